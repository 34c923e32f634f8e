"""The demo conversations: their descriptions, the role play and its annotation, and how recordings are brought in."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

import pipeline.demo
from pipeline.annotation.model import Annotation, Row
from pipeline.conversation import Conversation, discover
from pipeline.demo import fetch_demo
from pipeline.errors import PrerequisiteError
from pipeline.times import Interval
from scripts.role_play.script import annotate, read_script

RAW = Path(__file__).resolve().parents[1] / "raw_video"
ROLE_PLAY = RAW / "role_play"
RATE = 16_000

PATTERNS = {
    "pursue_withdraw",
    "attack_attack",
    "withdraw_withdraw",
    "repair_softening",
    "constructive_alignment",
    "mixed_transition",
}
STRATEGIES = {
    "track",
    "reframe",
    "evoke",
    "enact",
    "join",
    "detach",
    "repair",
    "counterbalance",
    "safeguard",
    "goal_align",
}
UTTERANCES = {
    "accusation",
    "defense",
    "disclosure",
    "request",
    "recollection",
    "reflection",
    "repair",
    "withdrawal",
    "validation",
    "other",
}


@pytest.fixture(scope="module")
def annotation() -> Annotation:
    return Annotation.model_validate_json((ROLE_PLAY / "annotations.json").read_text())


@pytest.fixture(scope="module")
def sound() -> np.ndarray:
    """The recording as the pipeline hears it: mono, 16 kHz."""
    command = ["ffmpeg", "-v", "error", "-i", str(ROLE_PLAY / "role_play.mp4"), "-ac", "1", "-ar", str(RATE)]
    decoded = subprocess.run([*command, "-f", "f32le", "-"], check=True, capture_output=True).stdout
    return np.frombuffer(decoded, dtype=np.float32)


def clients(annotation: Annotation) -> list[Row]:
    return [row for row in annotation.rows if not row.is_therapist]


def therapist(annotation: Annotation) -> list[Row]:
    return [row for row in annotation.rows if row.is_therapist]


def peak_dbfs(piece: np.ndarray) -> float:
    return float(20 * np.log10(np.abs(piece).max() + 1e-9))


class TestDescriptions:
    def test_all_three_are_found(self) -> None:
        discovery = discover(RAW)
        assert not discovery.problems
        assert {"phone_call", "public_address", "role_play"} <= {c.id for c, _ in discovery.conversations}

    def test_readme_examples_are_valid(self) -> None:
        examples = re.findall(r"```yaml\n(.*?)```", (RAW / "README.md").read_text(), re.DOTALL)
        assert len(examples) == 2
        for example in examples:
            Conversation.model_validate(yaml.safe_load(example))

    def test_readme_explains_every_field_and_no_other(self) -> None:
        explained = re.findall(r"^\| `(\w+)` \|", (RAW / "README.md").read_text(), re.MULTILINE)
        assert explained == list(Conversation.model_fields)


class TestRolePlayRecording:
    def test_is_small(self) -> None:
        assert (ROLE_PLAY / "role_play.mp4").stat().st_size < 3_000_000

    def test_annotation_is_what_the_script_says(self, annotation: Annotation) -> None:
        times = [Interval(row.start_time, row.end_time) for row in annotation.rows]
        assert annotate(read_script(ROLE_PLAY / "script.yaml"), times) == annotation

    def test_times_are_inside_and_in_order(self, annotation: Annotation, sound: np.ndarray) -> None:
        assert all(0 <= row.start_time < row.end_time <= len(sound) / RATE for row in annotation.rows)
        assert all(row.end_time < following.start_time for row, following in pairwise(annotation.rows))

    def test_rows_are_heard_when_they_say(self, annotation: Annotation, sound: np.ndarray) -> None:
        for row, following in pairwise(annotation.rows):
            pause = sound[round((row.end_time + 0.03) * RATE) : round((following.start_time - 0.03) * RATE)]
            onset = sound[round(following.start_time * RATE) : round((following.start_time + 0.1) * RATE)]
            ending = sound[round((row.end_time - 0.1) * RATE) : round(row.end_time * RATE)]
            assert peak_dbfs(pause) < -45, f"sound between rows {row.row_index} and {following.row_index}"
            assert peak_dbfs(onset) > -40, f"row {following.row_index} begins later than it says"
            assert peak_dbfs(ending) > -40, f"row {row.row_index} ends earlier than it says"

    @pytest.mark.slow
    def test_script_still_gives_these_times(self, annotation: Annotation) -> None:
        if shutil.which("flite") is None or find_spec("hibari") is None:
            pytest.skip("flite or hibari-tts is not installed")
        from scripts.role_play.perform import perform

        performance = perform(read_script(ROLE_PLAY / "script.yaml"))
        performed = [(time.start, time.end) for time in performance.times]
        assert np.allclose(performed, [(row.start_time, row.end_time) for row in annotation.rows], atol=0.05)


class TestRolePlayAnnotation:
    def test_is_of_this_conversation(self, annotation: Annotation) -> None:
        described = next(c for c, _ in discover(RAW).conversations if c.id == "role_play")
        assert annotation.conversation_id == described.id
        assert annotation.participants == described.participants
        assert annotation.scenario is described.scenario

    def test_rows_are_numbered_from_one(self, annotation: Annotation) -> None:
        assert [row.row_index for row in annotation.rows] == list(range(1, len(annotation.rows) + 1))

    def test_only_known_labels(self, annotation: Annotation) -> None:
        assert {row.utterance_type for row in clients(annotation)} <= UTTERANCES
        assert {row.utterance_type for row in therapist(annotation)} == {None}
        assert {row.relation_pattern for row in therapist(annotation)} <= PATTERNS | {""}
        assert {row.relation_pattern for row in clients(annotation)} == {None}
        assert {row.relation_cycle_state for row in annotation.rows} == {None}

    def test_labels_cover_the_scenario(self, annotation: Annotation) -> None:
        found = {move.strategy_type for row in annotation.rows for move in row.support_strategy}
        assert found == STRATEGIES
        assert {row.utterance_type for row in clients(annotation)} == UTTERANCES
        assert len({row.relation_label for row in annotation.rows} - {None}) >= 5

    def test_evidence_is_earlier_and_reasoned(self, annotation: Annotation) -> None:
        for row in annotation.rows:
            if row.relation_label:
                assert row.relation_pattern_reason
                assert row.relation_pattern_evidence_rows
                assert all(1 <= number < row.row_index for number in row.relation_pattern_evidence_rows)

    def test_entities_are_closed(self, annotation: Annotation) -> None:
        people = {*annotation.participants, "Therapist"}
        entities = people | {annotation.scenario.group_label}
        for row in annotation.rows:
            assert row.primary_speaker in people
            assert row.target
            assert set(row.target) <= entities - {row.primary_speaker}
            seen = (*row.body_posture, *row.facial_expressions, *row.self_directed_behavior, *row.internal_emotion)
            assert {item.person for item in seen} <= people
            for act in row.interaction_behavior:
                assert act.initiator in people
                assert set(act.target) <= people - {act.initiator}
            for view in row.viewpoints_attitudes:
                assert {view.source, view.target} <= set(annotation.participants)
                assert view.source != view.target
            for move in row.support_strategy:
                assert (row.is_therapist, move.provider) == (True, "Therapist")
                assert set(move.target) <= entities - {"Therapist"}
                assert len(move.target) == 1
            for emotion in row.internal_emotion:
                assert emotion.person in annotation.participants
                assert emotion.intensity is not None
                assert 0 <= emotion.intensity <= 10

    def test_every_client_row_has_its_speakers_emotion(self, annotation: Annotation) -> None:
        for row in clients(annotation):
            assert row.primary_speaker in {emotion.person for emotion in row.internal_emotion}

    def test_every_task_has_instances(self, annotation: Annotation) -> None:
        rows, moves = annotation.rows, [row.support_strategy[0] for row in annotation.rows if row.support_strategy]
        turns_taken = Counter((row.is_therapist, following.is_therapist) for row, following in pairwise(rows))
        assert min(turns_taken[False, True], turns_taken[False, False]) >= 10  # ITP, yes and no
        assert sum(row.relation_label is not None for row in rows) >= 10  # RPP
        assert {target for move in moves for target in move.target} == {"Nora", "Daniel", "Couple"}  # STP
        assert len(moves) >= 10  # SSP
        late = [row for row in clients(annotation) if row.row_index > np.ceil(0.3 * len(rows))]
        assert sum(len(re.findall(r"[A-Za-z0-9']+", row.dialogue_cleaned)) >= 5 for row in late) >= 5  # ER
        own = [
            row for row in clients(annotation) if row.primary_speaker in {v.source for v in row.viewpoints_attitudes}
        ]
        assert len(own) >= 5  # VP


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.mark.skipif(find_spec("pyannote") is None, reason="pyannote.audio is not installed")
class TestFetch:
    def test_without_network_the_other_conversation_is_complete(self, tmp_path: Path, offline: None) -> None:
        media = fetch_demo(tmp_path)
        assert {file.name for file in media.fetched} == {"sample.wav", "sample.rttm", "sample.stm"}
        (problem,) = media.problems
        assert isinstance(problem, PrerequisiteError)
        assert problem.conversation == "public_address"
        assert "could not be downloaded" in problem.message
        assert problem.hint
        assert not (tmp_path / "public_address").exists()

    def test_says_when_the_package_is_missing(
        self, tmp_path: Path, offline: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def missing(name: str) -> None:
            raise PackageNotFoundError(name)

        monkeypatch.setattr(pipeline.demo, "distribution", missing)
        problem = next(error for error in fetch_demo(tmp_path).problems if error.conversation == "phone_call")
        assert "pyannote.audio" in problem.message
        assert not list(tmp_path.rglob("*.wav"))

    @pytest.mark.slow
    def test_second_time_nothing_is_done(
        self, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = fetch_demo(tmp_path)
        if first.problems:
            pytest.skip("no package index in reach")
        expected = {"address.mp4", "sample.wav", "sample.rttm", "sample.stm"}
        assert {file.name for file in first.fetched} == expected
        assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == expected  # nothing left over
        stamps = {file: file.stat().st_mtime_ns for file in first.fetched}
        request.getfixturevalue("offline")
        again = fetch_demo(tmp_path)
        assert (again.fetched, again.problems) == ((), ())
        assert stamps == {file: file.stat().st_mtime_ns for file in stamps}

    @pytest.mark.slow
    def test_damaged_files_are_replaced(self, tmp_path: Path) -> None:
        for file in ("phone_call/sample.wav", "public_address/address.mp4"):
            damaged = tmp_path / file
            damaged.parent.mkdir()
            damaged.write_bytes(b"cut off")
        media = fetch_demo(tmp_path)
        if media.problems:
            pytest.skip("no package index in reach")
        assert (tmp_path / "phone_call/sample.wav").stat().st_size > 900_000
        assert (tmp_path / "public_address/address.mp4").stat().st_size == 173_378
