"""From released conversations and a folder of episodes to conversations with their scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from time import perf_counter

from pipeline.annotation.formats.transfer import take
from pipeline.build import Progress
from pipeline.errors import InputError, RescueError
from pipeline.locate.align import Fit
from pipeline.locate.decide import Status, Verdict, confirm, locate_scene
from pipeline.locate.episodes import Episode, episode_line, find_episodes, hear
from pipeline.locate.index import WordIndex
from pipeline.locate.place import earlier, has_own_media, put, take_away
from pipeline.locate.refine import Refinement, refine
from pipeline.locate.scene import Scene, scene_of
from pipeline.settings import Settings
from pipeline.speech.models import Models
from pipeline.station import Workspace
from pipeline.store import Json, write_json

__all__ = ["REPORT", "LocateReport", "Outcome", "Result", "locate"]

REPORT = "locate.json"
"""The report in the data folder."""


class Outcome(StrEnum):
    """How it ended for one conversation."""

    LOCATED = "located"
    """Found now; its clip is in place."""
    KEPT = "kept"
    """Found by an earlier run in an episode that is not in this folder; left as it is."""
    OWN = "own"
    """It has a recording that is not from here; left as it is."""
    REFUSED = "refused"
    """Not found, or not surely."""
    FAILED = "failed"
    """Its annotation cannot be read, or the scene cannot be cut."""


@dataclass(frozen=True)
class Result:
    """What became of one conversation."""

    conversation_id: str
    outcome: Outcome
    reason: str | None = None
    hint: str | None = None
    notes: tuple[str, ...] = ()
    verdict: Verdict | None = None
    episodes: tuple[str, ...] = ()
    """Names of all episodes, by number."""
    refinement: Refinement | None = None
    """By how much loudness moved the place that the words gave."""
    cut: bool = False
    """Whether the clip was cut now."""
    seconds: float = 0.0
    """Spent on finding the place; cutting is not counted."""
    cut_seconds: float = 0.0

    @property
    def best(self) -> Fit | None:
        """The best place, also where it was refused."""
        return self.verdict.best if self.verdict else None

    def to_json(self) -> dict[str, Json]:
        """The JSON form. ``best`` and ``runner_up`` are there also where the scene was refused."""
        verdict = self.verdict
        return {
            "conversation_id": self.conversation_id,
            "status": self.outcome.value,
            "reason": self.reason,
            "hint": self.hint,
            "notes": list(self.notes),
            "confidence": verdict.confidence if verdict else None,
            "best": _place(verdict.best, self.episodes) if verdict else None,
            "runner_up": _place(verdict.runner_up, self.episodes) if verdict else None,
            "refinement": self.refinement.to_json() if self.refinement else None,
            "cut": self.cut,
            "seconds": round(self.seconds, 3),
            "cut_seconds": round(self.cut_seconds, 3),
        }


@dataclass
class LocateReport:
    """What a run did."""

    episodes: list[str] = field(default_factory=list)
    """Names of the episodes that were searched."""
    episode_seconds: float = 0.0
    """Their length together."""
    recognition_seconds: float = 0.0
    """Spent on recognising them; next to nothing where that was done before."""
    search_seconds: float = 0.0
    """Spent on indexing their words and finding the scenes, without cutting."""
    others: list[str] = field(default_factory=list)
    """Files of the folder that were not searched: no recordings, or copies of others."""
    problems: list[RescueError] = field(default_factory=list)
    """Episodes that could not be searched; the others were."""
    results: list[Result] = field(default_factory=list)
    """One for each conversation with annotations, in order of id."""

    @property
    def well(self) -> bool:
        """Whether every episode was searched and every scene has its recording."""
        return not self.problems and not any(
            result.outcome in (Outcome.REFUSED, Outcome.FAILED) for result in self.results
        )

    def to_json(self) -> dict[str, Json]:
        """The JSON form; names of episodes are relative to their folder."""
        return {
            "episodes": self.episodes,
            "episode_seconds": round(self.episode_seconds, 1),
            "recognition_seconds": round(self.recognition_seconds, 1),
            "search_seconds": round(self.search_seconds, 3),
            "others": self.others,
            "problems": [str(problem) for problem in self.problems],
            "scenes": [result.to_json() for result in self.results],
            "time_unit": "seconds",
        }


def locate(
    workspaces: Sequence[Workspace],
    root: Path,
    settings: Settings,
    models: Models,
    *,
    progress: Progress | None = None,
) -> LocateReport:
    """Find the scene of every conversation that has annotations and no recording of its own; cut it; write the report.

    Episodes are recognised once; a second run only compares. A conversation whose scene is refused keeps its
    annotations and has no recording.

    Args:
        workspaces: The conversations; those without annotations are left alone.
        root: The folder of episodes.
        settings: Where data lies; how speech is recognised.
        models: The recogniser.
        progress: Told before each step.

    Raises:
        UsageError: If the folder is missing or holds no recording.
    """
    report = LocateReport()
    episodes = _hear_all(root, settings, models, report, progress)
    here = {episode.sha256 for episode in episodes}
    wanted: list[tuple[Workspace, Scene]] = []
    for workspace in workspaces:
        if workspace.conversation.annotations is None:
            continue
        settled = _settled(workspace, here)
        if settled is not None:
            report.results.append(settled)
            continue
        try:
            wanted.append((workspace, _scene(workspace)))
        except RescueError as error:
            report.results.append(_failed(workspace.conversation.id, error))
    begun = perf_counter()
    index = WordIndex([episode.heard for episode in episodes])
    verdicts, spent = [], []
    for _, scene in wanted:
        if progress:
            progress(scene.conversation_id, "locate")
        started = perf_counter()
        verdicts.append(locate_scene(scene, index))
        spent.append(perf_counter() - started)
    verdicts = confirm(verdicts, index)
    report.search_seconds = perf_counter() - begun
    names = tuple(episode.heard.name for episode in episodes)
    for (workspace, _), verdict, seconds in zip(wanted, verdicts, spent, strict=True):
        if progress:
            progress(workspace.conversation.id, "cut")
        report.results.append(_ended(workspace, verdict, episodes, names, seconds))
    report.results.sort(key=lambda result: result.conversation_id)
    write_json(settings.data / REPORT, report.to_json())
    return report


def _hear_all(
    root: Path, settings: Settings, models: Models, report: LocateReport, progress: Progress | None
) -> list[Episode]:
    begun = perf_counter()
    folder = find_episodes(root, settings, progress)
    report.others = list(folder.others)
    line = episode_line(models)
    episodes = []
    for file, sha256 in zip(folder.files, folder.digests, strict=True):
        try:
            episodes.append(hear(folder, file, sha256, line, settings, progress))
        except RescueError as error:
            report.problems.append(error)
    report.episodes = [episode.heard.name for episode in episodes]
    report.episode_seconds = sum(episode.heard.duration for episode in episodes)
    report.recognition_seconds = perf_counter() - begun
    return episodes


def _settled(workspace: Workspace, here: set[str]) -> Result | None:
    """The result of a conversation that is not to be searched."""
    name = workspace.conversation.id
    if has_own_media(workspace):
        return Result(name, Outcome.OWN, reason="it has a recording of its own")
    note = earlier(workspace)
    if note is not None and note["episode_sha256"] not in here and (workspace.raw / str(note["media"])).is_file():
        return Result(name, Outcome.KEPT, reason=f"found earlier in {note['episode']}, which is not in this folder")
    return None


def _scene(workspace: Workspace) -> Scene:
    conversation = workspace.conversation
    path = workspace.source(conversation.annotations)
    if path is None or not path.is_file():
        msg = "the annotation file is missing"
        raise InputError(msg, conversation=conversation.id, file=conversation.annotations, hint="import it again")
    return scene_of(conversation.id, take(path, conversation).loaded.annotation.rows)


def _ended(
    workspace: Workspace, verdict: Verdict, episodes: Sequence[Episode], names: tuple[str, ...], seconds: float
) -> Result:
    name = workspace.conversation.id
    if verdict.status is not Status.LOCATED or verdict.best is None:
        with workspace.locked():
            take_away(workspace)
        hint = "if you have the scene as a clip, put it into the folder and name it as `media:` in conversation.yaml"
        return Result(name, Outcome.REFUSED, verdict.reason, hint, (), verdict, names, seconds=seconds)
    started = perf_counter()
    episode = episodes[verdict.best.episode]
    try:
        best, refinement = refine(verdict.best, verdict.scene, episode.audio)
        seconds += perf_counter() - started
        started = perf_counter()
        verdict = replace(verdict, best=best)
        with workspace.locked():
            cut = put(verdict, episode, workspace)
    except (RescueError, OSError) as error:
        failed = _failed(name, error)
        return Result(name, Outcome.FAILED, failed.reason, failed.hint, (), verdict, names, seconds=seconds)
    took = perf_counter() - started
    return Result(
        name, Outcome.LOCATED, None, None, verdict.notes, verdict, names, refinement, cut, seconds, cut_seconds=took
    )


def _failed(conversation_id: str, error: RescueError | OSError) -> Result:
    if isinstance(error, RescueError):
        where = ", ".join(part for part in (error.file, error.place) if part)
        reason = f"{where}: {error.message}" if where else error.message
        return Result(conversation_id, Outcome.FAILED, reason, error.hint)
    return Result(conversation_id, Outcome.FAILED, error.strerror or str(error), "check rights and disk")


def _place(found: Fit | None, names: Sequence[str]) -> dict[str, Json] | None:
    if found is None:
        return None
    return {
        "episode": names[found.episode],
        "offset": found.offset,
        "speed": round(float(found.speed), 6),
        "matched_share": round(found.share, 4),
        "coverage": round(found.coverage, 4),
        "anchors": found.anchors,
        "spread": found.spread,
        "parts": [{"start": round(part.start, 3), "offset": part.offset} for part in found.parts],
    }
