"""The atomic writer and the JSON form."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pipeline.store import atomic_path, digest_json, read_json, write_json, write_text


def test_a_block_that_raises_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "old"


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_text(target, "old")
    script = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from pipeline.store import atomic_path
        with atomic_path(Path({str(target)!r})) as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert target.read_text() == "old"


def test_writing_the_same_again_touches_nothing(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    write_json(target, {"b": 1, "a": "é"})
    os.utime(target, ns=(1, 1))
    write_json(target, {"a": "é", "b": 1})
    assert target.stat().st_mtime_ns == 1
    assert read_json(target) == {"a": "é", "b": 1}


def test_files_have_the_mode_that_the_user_asked_for(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_the_suffix_is_kept_for_programs_that_choose_a_format_by_it(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "clip.mp4") as temporary:
        assert temporary.suffix == ".mp4"
        temporary.write_bytes(b"x")


def test_json_never_holds_what_json_cannot(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", {"a": float("nan")})
    assert not list(tmp_path.iterdir())


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert (
        digest_json({"a": 1, "b": [1, 2]}) == digest_json({"b": [1, 2], "a": 1}) != digest_json({"a": 1, "b": [2, 1]})
    )
