"""The station of clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.clips.cut import Hide, cut_clips, plan_cuts
from pipeline.clips.encode import SUFFIXES, Cut
from pipeline.errors import SkipStation
from pipeline.media.ffmpeg import version as ffmpeg_version
from pipeline.media.frames import native_grid
from pipeline.media.probe import probe
from pipeline.provenance import DigestCache, package_versions
from pipeline.schemas import read_rows
from pipeline.settings import ClipSettings
from pipeline.station import Record, State, Station, Workspace
from pipeline.store import Json, digest_json, read_json, write_json
from pipeline.times import Interval

__all__ = ["ClipsStation"]

_INDEX = "clips/index.json"


class ClipsStation(Station):
    """Cut a clip of each row. A row whose clip is current is not cut again."""

    name = "clips"
    version = 2
    needs = ("source", "rows")
    uses = ("audio",)
    outputs = (_INDEX,)
    packages = ("av", "opencv-python", "soundfile")
    summary_doc = "Cuts a small video of each annotation row, with its sound, a poster picture and a contact sheet."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The recording, its sound on the clip's time axis, and the rows."""
        files = {name: workspace.artifact(name) for name in ("source.json", "rows.parquet")}
        media = workspace.source(workspace.conversation.media)
        if media is not None:
            files["media"] = media
        if _has_sound(workspace):
            files["audio"] = workspace.artifact("audio.flac")
        return files

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """How clips are cut."""
        return workspace.settings.clips.model_dump()

    def models(self, workspace: Workspace) -> Mapping[str, str]:
        """The ffmpeg in use, and the face detector where faces are hidden."""
        if workspace.settings.clips.faces == "shown":
            return {"ffmpeg": ffmpeg_version()}
        from pipeline.vision.networks import digests  # noqa: PLC0415 - an extra

        return {"ffmpeg": ffmpeg_version(), **digests()}

    def is_current(self, workspace: Workspace, record: Record, digests: DigestCache) -> bool:
        """As for every station, and no clip is gone."""
        if not super().is_current(workspace, record, digests):
            return False
        if record.state is not State.DONE:
            return True
        rows = [clip["row"] for clip in read_json(workspace.artifact(_INDEX))["clips"]]
        return all(path.is_file() for row in rows for path in _files(workspace, row))

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``clips/``: three files a row, and ``index.json``.

        Raises:
            SkipStation: If there is no video, or clips are switched off.
            InputError: If the picture cannot be decoded.
            PrerequisiteError: If the extra ``vision`` is not installed.
        """
        settings = workspace.settings.clips
        media = workspace.source(workspace.conversation.media)
        source = read_json(workspace.artifact("source.json"))
        if media is None or not source["has_video"] or not settings.enabled:
            _remove_others(workspace, keep={})
            msg = "clips are switched off" if not settings.enabled else "no video: there is only sound"
            raise SkipStation(msg)
        info = probe(media)
        assert info.video is not None
        grid = native_grid(info.video, settings.longest_side)
        rows = read_rows(workspace.artifact("rows.parquet"))
        spans = [(row["row_index"], Interval(row["start_time"], row["end_time"])) for row in rows]
        cuts = plan_cuts(spans, grid, source["duration"], settings.padding)
        sound = workspace.artifact("audio.flac") if _has_sound(workspace) else None
        made_of = {
            "media": source["sha256"],
            "audio": read_json(workspace.record("audio"))["outputs"]["audio.flac"] if sound else None,
            "parameters": self.parameters(workspace),
            "models": self.models(workspace),
            "packages": package_versions(self.packages),
            "version": self.version,
        }
        wanted = {cut.row: digest_json({**made_of, "first": cut.first, "frames": cut.count}) for cut in cuts}
        current = _remove_others(workspace, keep=wanted)
        fresh = [cut for cut in cuts if cut.row not in current]
        cut_clips(media, info, sound, fresh, grid, workspace.artifact("clips"), settings, _hide(settings))
        left_out = sorted({row for row, _ in spans} - wanted.keys())
        _write_index(workspace, cuts, wanted, left_out)
        return {
            "clips": len(cuts),
            "cut": len(fresh),
            "seconds": round(sum(cut.end - cut.start for cut in cuts), 1),
            "megabytes": round(sum(_files(workspace, cut.row)[0].stat().st_size for cut in cuts) / 1e6, 1),
            "left_out": len(left_out),
        }


def _has_sound(workspace: Workspace) -> bool:
    return Record.read(workspace.record("audio")).state is State.DONE


def _hide(settings: ClipSettings) -> Hide | None:
    if settings.faces == "shown":
        return None
    from pipeline.clips.hide import FaceHider  # noqa: PLC0415 - an extra

    return FaceHider(settings.faces)


def _files(workspace: Workspace, row: int) -> list[Path]:
    return [workspace.artifact("clips") / f"{row}{suffix}" for suffix in SUFFIXES]


def _remove_others(workspace: Workspace, keep: Mapping[int, str]) -> set[int]:
    """Delete the clips that are not what would be made now; the rows of those that are.

    They are deleted first, so that no clip of a run that breaks, or with faces that should be hidden, stays behind.
    """
    index = workspace.artifact(_INDEX)
    known = {clip["row"]: clip["made_of"] for clip in read_json(index)["clips"]} if index.is_file() else {}
    current = {
        row
        for row, made_of in keep.items()
        if known.get(row) == made_of and all(path.is_file() for path in _files(workspace, row))
    }
    kept = {path for row in current for path in _files(workspace, row)} | {index}
    for path in workspace.artifact("clips").glob("*"):
        if path.is_file() and path not in kept:
            path.unlink()
    return current


def _write_index(workspace: Workspace, cuts: Sequence[Cut], made_of: Mapping[int, str], left_out: list[int]) -> None:
    clips = [{**cut.to_json(), "made_of": made_of[cut.row]} for cut in cuts]
    write_json(workspace.artifact(_INDEX), {"clips": clips, "left_out": left_out, "time_unit": "seconds"})
