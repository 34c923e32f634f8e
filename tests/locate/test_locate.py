"""The commands: from a release and whole episodes to conversations with their scenes, and to the benchmark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from benchmarks.made_episodes import Made, make_episodes, scenes, write_release
from pipeline.errors import UsageError
from pipeline.locate.episodes import find_episodes
from pipeline.settings import Settings
from tests.media.made import make, tone

SPEEDS = (1.0, 25 / 24, 1.0)
ABSENT = "role_play_3"


def test_the_recordings_of_a_folder_are_its_episodes(tmp_path: Path) -> None:
    root = tmp_path / "episodes"
    (root / "Season 1").mkdir(parents=True)
    one = make(root / "Season 1" / "one.mp3", *tone(1))
    shutil.copyfile(one, root / "Season 1" / "two.MP3")
    shutil.copyfile(one, root / "Season 1" / "._one.mp3")
    (root / "notes.txt").write_text("no recording")
    found = find_episodes(root, Settings(data=tmp_path / "data", raw=tmp_path / "raw"))
    assert [found.name(file) for file in found.files] == ["Season 1/one.mp3"]
    assert sorted(found.others) == ["Season 1/two.MP3", "notes.txt"]


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_without_episodes_is_refused(tmp_path: Path, *, there: bool) -> None:
    if there:
        (tmp_path / "episodes").mkdir()
    with pytest.raises(UsageError):
        find_episodes(tmp_path / "episodes", Settings(data=tmp_path / "data", raw=tmp_path / "raw"))


@dataclass(frozen=True)
class Project:
    """A folder with a release and three short episodes."""

    folder: Path
    made: tuple[Made, ...]

    def __call__(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Run the command; gives its exit code and its JSON document."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RESCUE_")}
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", *arguments, "--json"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def raw(self, name: str) -> Path:
        return self.folder / "raw_video" / f"made~2f{name}"

    def yaml(self, name: str) -> dict[str, Any]:
        return dict(yaml.safe_load((self.raw(name) / "conversation.yaml").read_text("utf-8")))


@pytest.fixture(scope="module")
def project(media: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("project")
    (folder / "episodes").mkdir()
    every = {scene.name: scene for scene in scenes(media)}
    inside = [["katiesteve_mono", "pyannote_sample"], ["commercial_mono"], ["role_play_2"]]
    present = [[every[name] for name in names] for names in inside]
    made = make_episodes(present, folder / "episodes", minutes=2, speeds=SPEEDS)
    made.append(Made(every[ABSENT], None, 0.0, 1.0))
    write_release(made, folder / "release.jsonl")
    return Project(folder, tuple(made))


@pytest.fixture(scope="module")
def located(project: Project) -> tuple[int, dict[str, Any]]:
    return project("locate", "release.jsonl", "--episodes", "episodes")


slow = [pytest.mark.slow, pytest.mark.media, pytest.mark.timeout(1800)]


class TestEndToEnd:
    """Real recordings, real recogniser; the tests run in this order."""

    pytestmark = slow

    def test_every_scene_is_where_it_was_put(self, project: Project, located: tuple[int, dict[str, Any]]) -> None:
        code, report = located
        found = {scene["conversation_id"].removeprefix("made/"): scene for scene in report["scenes"]}
        for each in project.made:
            scene = found[each.scene.name]
            if each.file is None:
                assert scene["status"] == "refused"
                assert scene["reason"]
                assert "media" not in project.yaml(each.scene.name)
                continue
            assert scene["status"] == "located", scene
            assert scene["best"]["episode"] == each.file
            assert scene["best"]["offset"] == pytest.approx(each.offset, abs=0.2)
            assert scene["best"]["speed"] == pytest.approx(each.speed, abs=0.001)
            assert project.yaml(each.scene.name)["media"] == "located.mp4"
            assert (project.raw(each.scene.name) / "located.mp4").is_file()
        assert code == 1  # one scene has no recording
        assert report["episodes"] == [f"Show S01E0{number}.mp4" for number in (1, 2, 3)]

    def test_nothing_written_names_a_place_of_the_machine(
        self, project: Project, located: tuple[int, dict[str, Any]]
    ) -> None:
        written = [project.folder / "data" / "locate.json", *project.folder.glob("raw_video/*/located.json")]
        assert len(written) == 5
        for path in written:
            assert str(project.folder) not in path.read_text("utf-8")

    def test_a_second_run_does_nothing(self, project: Project, located: tuple[int, dict[str, Any]]) -> None:
        _, report = project("locate", "--episodes", "episodes")
        assert not any(scene["cut"] for scene in report["scenes"])
        assert report["recognition_seconds"] < 5
        before = [(scene["status"], scene["best"]) for scene in located[1]["scenes"]]
        assert [(scene["status"], scene["best"]) for scene in report["scenes"]] == before

    def test_from_release_to_benchmark(self, project: Project, located: tuple[int, dict[str, Any]]) -> None:
        code, report = project("rebuild", "--release", "release.jsonl", "--episodes", "episodes")
        assert code == 1
        assert report["import"]["unchanged"] == len(project.made)
        assert report["build"]["dataset_refused"] is None
        tables = project.folder / "data" / "benchmark"
        conversations = pq.read_table(tables / "conversations" / "test.parquet").to_pylist()
        assert {row["conversation_id"] for row in conversations if row["has_video"]} == {
            f"made/{each.scene.name}" for each in project.made if each.file
        }
        rows = pq.read_table(tables / "rows" / "test.parquet").to_pylist()
        assert len(rows) == sum(len(each.scene.rows) for each in project.made)
        for each in project.made:
            data = project.folder / "data" / "conversations" / f"made~2f{each.scene.name}"
            clips = {int(path.stem) for path in data.glob("clips/*.mp4")}
            assert clips == (set(range(1, len(each.scene.rows) + 1)) if each.file else set())
        heard = [row for row in rows if row["matched_share"] is not None]
        assert sum(row["matched_share"] for row in heard) / len(heard) > 0.6

    def test_what_is_not_in_this_folder_is_kept(self, project: Project, located: tuple[int, dict[str, Any]]) -> None:
        (project.folder / "other").mkdir()
        shutil.copyfile(project.folder / "episodes" / "Show S01E03.mp4", project.folder / "other" / "renamed.mp4")
        _, report = project("locate", "--episodes", "other")
        found = {scene["conversation_id"]: scene for scene in report["scenes"]}
        assert found["made/commercial_mono"]["status"] == "kept"
        assert found["made/role_play_2"]["best"]["episode"] == "renamed.mp4"
        assert not found["made/role_play_2"]["cut"]

    def test_a_recording_of_its_own_is_not_touched(self, project: Project, located: tuple[int, dict[str, Any]]) -> None:
        folder = project.raw(ABSENT)
        make(folder / "mine.mp3", *tone(2))
        said = (folder / "conversation.yaml").read_text("utf-8")
        (folder / "conversation.yaml").write_text(said + "media: mine.mp3\n", encoding="utf-8")
        code, report = project("locate", "--episodes", "episodes", "--id", f"made/{ABSENT}")
        assert [scene["status"] for scene in report["scenes"]] == ["own"]
        assert code == 0
        assert project.yaml(ABSENT)["media"] == "mine.mp3"

    def test_a_scene_that_is_refused_later_loses_its_clip(
        self, project: Project, located: tuple[int, dict[str, Any]]
    ) -> None:
        shutil.copyfile(project.raw(ABSENT) / "annotations.json", project.raw("role_play_2") / "annotations.json")
        text = (project.raw("role_play_2") / "annotations.json").read_text("utf-8")
        (project.raw("role_play_2") / "annotations.json").write_text(
            text.replace(f"made/{ABSENT}", "made/role_play_2"), encoding="utf-8"
        )
        code, report = project("locate", "--episodes", "episodes", "--id", "made/role_play_2")
        assert code == 1
        assert [scene["status"] for scene in report["scenes"]] == ["refused"]
        assert "media" not in project.yaml("role_play_2")
        assert not (project.raw("role_play_2") / "located.mp4").exists()
