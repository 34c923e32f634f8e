"""Names come from phones, archives and people; none is read as an option, a pattern or an address."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.station import State
from tests.media.made import MP4, make, picture, take_in, tone


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    target = tmp_path_factory.mktemp("good") / "good.mp4"
    return make(target, *picture(1), *tone(1), *MP4).read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "-interview.mp4",
        "It's Zoe & Max - Teil 1 (é).mp4",
        "a:b.mp4",
        "100%d.mp4",
        "@list.mp4",
        "line\nbreak.mp4",
        'quo"te.mp4',
        "http:example.mp4",
        "$(touch x).mp4",
        "no suffix",
        " leading.mp4",
        "семья.mp4",
        "[0-9]*.mp4",
        "pipe:0",
    ],
)
def test_any_name_works_like_any_other(tmp_path: Path, good: bytes, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(good)
    # A relative path, as `rescue build` in the project folder gives it.
    workspace, source, audio = take_in(Path(name), Path("data"))
    assert source.state is State.DONE, source.record.reason
    assert audio.state is State.DONE, audio.record.reason
    assert workspace.artifact("audio.flac").stat().st_size > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "data"])


def test_a_link_is_followed(tmp_path: Path, good: bytes) -> None:
    (tmp_path / "real.mp4").write_bytes(good)
    (tmp_path / "linked.mp4").symlink_to(tmp_path / "real.mp4")
    _, source, _ = take_in(tmp_path / "linked.mp4", tmp_path / "data")
    assert source.state is State.DONE
