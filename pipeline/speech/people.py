"""The same person across the conversations of one group: voices compared, names carried over as proposals.

Voices are joined by average linkage on the cosine distance of their embeddings, never two of one conversation, which
diarization told apart. The embedded network hears the room and the microphone too, which a couple shares: a join says
"most likely the same", a person decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pipeline.errors import InputError
from pipeline.station import Record, State, Workspace
from pipeline.store import Json, read_json

__all__ = ["Person", "Voice", "people_of", "voices_of"]

_CLEAR_MARGIN = 0.05
"""A join is unsure where the next voice that could be the same person's is less than this farther away."""


@dataclass(frozen=True)
class Voice:
    """One speaker of one conversation."""

    conversation_id: str
    label: str
    """As in ``speakers.rttm``."""
    seconds: float
    embedding: tuple[float, ...]
    network: str
    """What made the embedding; those of different networks cannot be compared."""
    name: str | None = None
    """Whom the annotation of its conversation calls so."""


@dataclass(frozen=True)
class Person:
    """Voices that are most likely one person's."""

    voices: tuple[Voice, ...]
    distance: float | None
    """Mean distance between the voices; None for a single one."""
    margin: float | None
    """How much farther the next voice that could be the same person's is; None if there is none."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that annotations give; more than one is a contradiction."""
        return tuple(sorted({voice.name for voice in self.voices if voice.name is not None}))

    @property
    def name(self) -> str | None:
        """The name, also for voices of conversations that nobody annotated; None if there is none or several."""
        return self.names[0] if len(self.names) == 1 else None

    @property
    def flags(self) -> list[str]:
        """What to look at before the join is believed."""
        joined = len(self.voices) > 1
        found = {
            "names_differ": len(self.names) > 1,
            "unsure": joined and self.margin is not None and self.margin < _CLEAR_MARGIN,
        }
        return [name for name, given in found.items() if given]

    def to_json(self) -> dict[str, Json]:
        """The JSON form, without embeddings: these tell a voice like a fingerprint."""
        return {
            "name": self.name,
            "names": list(self.names),
            "distance": self.distance,
            "margin": self.margin,
            "flags": self.flags,
            "voices": [
                {
                    "conversation": voice.conversation_id,
                    "speaker": voice.label,
                    "seconds": voice.seconds,
                    "name": voice.name,
                }
                for voice in self.voices
            ],
        }


def voices_of(workspace: Workspace) -> list[Voice]:
    """The speakers of a conversation that have an embedding.

    Raises:
        InputError: If its speakers were not found yet.
    """
    record = Record.read(workspace.record("speakers"))
    if record.state is not State.DONE:
        msg = "its speakers were not told apart yet"
        hint = f"rescue build {workspace.conversation.key}"
        raise InputError(msg, conversation=workspace.conversation.id, hint=hint)
    content = read_json(workspace.artifact("speakers.json"))
    models = (record.provenance or {}).get("models") or {}
    network = ", ".join(f"{role} {digest}" for role, digest in sorted(models.items()))
    names = _names(workspace, content["run_id"])
    return [
        Voice(
            workspace.conversation.id,
            speaker["label"],
            speaker["seconds"],
            tuple(speaker["embedding"]),
            network,
            names.get(speaker["label"]),
        )
        for speaker in content["speakers"]
        if speaker["embedding"] and any(speaker["embedding"])
    ]


def people_of(voices: Sequence[Voice], threshold: float) -> list[Person]:
    """Who is who among the voices of one group, ordered by how long they speak.

    Args:
        voices: All of them.
        threshold: Mean cosine distance, 0 to 2, under which voices of different conversations are one person.
    """
    if not voices:
        return []
    distances = _distances(voices)
    clusters = [[position] for position in range(len(voices))]
    while True:
        near = [
            (_linkage(distances, one, two), first, second)
            for (first, one), (second, two) in combinations(enumerate(clusters), 2)
        ]
        closest = min(near, default=(np.inf, 0, 0))
        if not closest[0] < threshold:
            break
        _, first, second = closest
        clusters[first] += clusters.pop(second)
    people = [_person(cluster, clusters, voices, distances) for cluster in clusters]
    return sorted(people, key=lambda person: -sum(voice.seconds for voice in person.voices))


def _names(workspace: Workspace, run_id: str) -> Mapping[str, str]:
    """Names of labels from the join with annotations, if it is of this run: labels are arbitrary in every run."""
    if Record.read(workspace.record("rows")).state is not State.DONE:
        return {}
    speakers = read_json(workspace.artifact("join.json")).get("speakers") or {}
    return speakers.get("participant", {}) if speakers.get("run_id") == run_id else {}


def _distances(voices: Sequence[Voice]) -> np.ndarray:
    """Cosine distances; infinite between voices that cannot be one person's or cannot be compared."""
    found = np.full((len(voices), len(voices)), np.inf)
    for one, two in combinations(range(len(voices)), 2):
        first, second = voices[one], voices[two]
        if first.conversation_id != second.conversation_id and first.network == second.network:
            left, right = np.array(first.embedding), np.array(second.embedding)
            found[one, two] = found[two, one] = 1 - left @ right / (np.linalg.norm(left) * np.linalg.norm(right))
    return found


def _linkage(distances: np.ndarray, one: Iterable[int], two: Iterable[int]) -> float:
    return float(distances[np.ix_(list(one), list(two))].mean())


def _person(
    cluster: Sequence[int], clusters: Sequence[Sequence[int]], voices: Sequence[Voice], distances: np.ndarray
) -> Person:
    inner = [distances[one, two] for one, two in combinations(cluster, 2)]
    # A voice of another cluster could be this person's wherever it is not of the same conversation as the one compared.
    outer = [
        distances[one, two]
        for other in clusters
        if other is not cluster
        for one in cluster
        for two in other
        if np.isfinite(distances[one, two])
    ]
    distance = float(np.mean(inner)) if inner else None
    margin = min(outer) - (max(inner) if inner else 0.0) if outer else None
    members = tuple(voices[position] for position in sorted(cluster))
    return Person(
        members,
        None if distance is None else round(distance, 3),
        None if margin is None or distance is None else round(float(margin), 3),
    )
