"""Bounds, labels and the run id of diarization, with a pipeline that records what it is told."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.conversation import SpeakerBounds
from pipeline.speech.diarize import OUTSIDE_BOUNDS, UNLIKE_PARTICIPANTS, bound_arguments, diarize

pytest.importorskip("torch")


class Recorder:
    """Stands for a pyannote pipeline: the real one cannot be made to say a given thing."""

    def __init__(self, *turns: tuple[float, float, str], vectors: dict[str, list[float]] | None = None) -> None:
        self.turns = turns
        self.vectors = vectors or {}
        self.calls: list[tuple[tuple[object, ...], dict[str, object]]] = []

    def __call__(self, *args, **kwargs):
        from pyannote.core import Annotation, Segment

        self.calls.append((args[1:], kwargs))
        annotation = Annotation()
        for number, (start, end, label) in enumerate(self.turns):
            annotation[Segment(start, end), number] = label
        vectors = np.array([self.vectors.get(label, [1.0, 0.0]) for label in annotation.labels()])
        return SimpleNamespace(speaker_diarization=annotation, speaker_embeddings=vectors)


AUDIO = np.zeros(16_000 * 10, dtype=np.float32)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (SpeakerBounds(min=2, max=4), {"min_speakers": 2, "max_speakers": 4}),
        (SpeakerBounds(min=3, max=3), {"num_speakers": 3}),
        (None, {}),
    ],
)
def test_bounds_arrive_under_their_names_and_none_are_invented(bounds, expected):
    pipeline = Recorder((0, 1, "x"))
    found = diarize(pipeline, AUDIO, bounds)
    assert pipeline.calls == [((), expected)]
    assert found.arguments == bound_arguments(bounds) == expected
    assert found.to_json(bounds, None)["bounds"] == expected


def test_labels_follow_first_appearance():
    found = diarize(Recorder((4, 5, "b"), (0, 2, "z"), (1, 3, "b")), AUDIO, None)
    assert [(turn.start, turn.end, turn.speaker) for turn in found.turns] == [
        (0, 2, "SPEAKER_00"),
        (1, 3, "SPEAKER_01"),
        (4, 5, "SPEAKER_01"),
    ]


def test_each_voice_stays_with_its_label():
    found = diarize(Recorder((0, 2, "z"), (3, 4, "b"), vectors={"z": [1.0, 2.0], "b": [3.0, 4.0]}), AUDIO, None)
    assert found.embeddings == {"SPEAKER_00": [1.0, 2.0], "SPEAKER_01": [3.0, 4.0]}


def test_a_voice_that_could_not_be_measured_is_left_out():
    found = diarize(Recorder((0, 2, "z"), vectors={"z": [float("nan"), 2.0]}), AUDIO, None)
    assert found.embeddings == {}
    assert found.to_json(None, None)["speakers"][0]["embedding"] is None


def test_a_count_outside_the_bounds_is_flagged_and_nothing_is_dropped():
    bounds = SpeakerBounds(min=3, max=4)
    found = diarize(Recorder((0, 1, "a"), (1, 2, "b")), AUDIO, bounds)
    assert found.flags(bounds, 3) == [OUTSIDE_BOUNDS, UNLIKE_PARTICIPANTS]
    assert len(found.turns) == 2
    assert found.flags(SpeakerBounds(min=1, max=2), 2) == []


def test_a_run_with_swapped_labels_has_another_id():
    first = diarize(Recorder((0, 1, "a"), (2, 3, "b"), (4, 5, "a")), AUDIO, None)
    again = diarize(Recorder((0, 1, "a"), (2, 3, "b"), (4, 5, "a")), AUDIO, None)
    other = diarize(Recorder((0, 1, "a"), (2, 3, "b"), (4, 5, "b")), AUDIO, None)
    assert first.run_id == again.run_id != other.run_id


def test_stretches_end_with_the_recording():
    found = diarize(Recorder((9.0, 10.4, "a")), AUDIO, None)
    assert found.turns[0].end == 10.0


def test_silence_and_an_empty_recording_have_no_speakers():
    for audio in (AUDIO, AUDIO[:0]):
        found = diarize(Recorder(), audio, SpeakerBounds(min=2, max=2))
        assert found.turns == ()
        assert found.flags(SpeakerBounds(min=2, max=2), 2) == []
