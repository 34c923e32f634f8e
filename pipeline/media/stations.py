"""The stations of media: source and audio."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import InputError, SkipStation
from pipeline.media.audio import extract_audio
from pipeline.media.ffmpeg import version as ffmpeg_version
from pipeline.media.probe import AudioStream, MediaInfo, PacketTimes, choose_audio, probe, scan_packets
from pipeline.station import Station, Workspace
from pipeline.store import Json, digest_file, read_json, write_json
from pipeline.times import Seconds

__all__ = ["AudioStation", "NoAudioStreamError", "SourceStation", "check_recording"]

_RIFF_UNKNOWN = (0, 0xFFFFFFFF)
_PADDING = 0.05


class NoAudioStreamError(InputError):
    """The recording has no sound, so nobody can be heard."""


class SourceStation(Station):
    """Look at the recording: what it is, and whether it is whole."""

    name = "source"
    version = 1
    outputs = ("source.json",)
    packages = ("ffmpeg-python",)
    summary_doc = (
        "Looks at the recording: how long it is, what sound and picture it has, and whether the file is whole."
    )

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The recording."""
        media = workspace.source(workspace.conversation.media)
        return {"media": media} if media else {}

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """The name of the file, and how much of it may be missing."""
        return {
            "media": workspace.conversation.media,
            "duration_tolerance": workspace.settings.media.duration_tolerance,
        }

    def models(self, workspace: Workspace) -> Mapping[str, str]:
        """The ffmpeg in use."""
        return {"ffmpeg": ffmpeg_version()} if workspace.conversation.media else {}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``source.json``.

        Raises:
            SkipStation: If the conversation has no recording.
            InputError: If it is missing, no recording, or cut off.
        """
        media = workspace.source(workspace.conversation.media)
        if media is None:
            msg = "no media: annotations only"
            raise SkipStation(msg)
        info, packets = check_recording(media, workspace.settings.media.duration_tolerance)
        end = max((times.end for times in packets.values()), default=0.0)
        content = {
            "media": workspace.conversation.media,
            "size": media.stat().st_size,
            "sha256": digest_file(media),
            # Without an index a file only estimates its length; a frame of padding is no reason to doubt it.
            "duration": end if end - info.duration > _PADDING else info.duration,
            "has_audio": bool(info.audio),
            "has_video": info.video is not None,
            "info": info.to_json(),
            "audio_holes": {
                str(stream.track): [list(hole) for hole in packets[stream.index].holes]
                for stream in info.audio
                if stream.index in packets
            },
        }
        write_json(workspace.artifact("source.json"), content)
        summary: dict[str, Json] = {name: content[name] for name in ("duration", "has_audio", "has_video")}
        if info.video:
            summary |= {"width": info.video.width, "height": info.video.height, "fps": info.video.fps}
            summary["warnings"] = _picture_warnings(info)
        return summary


def check_recording(media: Path, tolerance: Seconds) -> tuple[MediaInfo, Mapping[int, PacketTimes]]:
    """What a recording is and where its data lies: what the station does, and what ``rescue add`` checks.

    Args:
        media: The file.
        tolerance: Seconds that may be missing at its end.

    Raises:
        InputError: If it is missing, no recording, or cut off.
    """
    info = probe(media)
    packets = scan_packets(media, info)
    _check_whole(media, info, packets, tolerance)
    return info, packets


class AudioStation(Station):
    """Bring the sound onto the clip's own time axis."""

    name = "audio"
    version = 1
    needs = ("source",)
    outputs = ("audio.flac", "audio.json")
    packages = ("ffmpeg-python", "numpy", "soundfile")
    summary_doc = "Takes the sound out of the recording, so that a time in it is a time in the video."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The recording and what is known of it."""
        media = workspace.source(workspace.conversation.media)
        known = {"source": workspace.artifact("source.json")}
        return {**known, "media": media} if media else known

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """Which track, and the tolerances."""
        settings = workspace.settings.media
        return {
            "audio_track": workspace.conversation.audio_track,
            "language": _language(workspace),
            "cancel_db": settings.cancel_db,
            "quiet_dbfs": settings.quiet_dbfs,
            "duration_tolerance": settings.duration_tolerance,
        }

    def models(self, workspace: Workspace) -> Mapping[str, str]:
        """The ffmpeg in use."""
        del workspace
        return {"ffmpeg": ffmpeg_version()}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``audio.flac`` and ``audio.json``.

        Raises:
            NoAudioStreamError: If the recording has no sound.
            InputError: If the sound cannot be decoded, or ends early.
        """
        media = workspace.source(workspace.conversation.media)
        if media is None:
            msg = "no media: annotations only"
            raise SkipStation(msg)
        source = read_json(workspace.artifact("source.json"))
        info = probe(media)
        if not info.audio:
            msg = "no audio stream"
            raise NoAudioStreamError(msg, file=media, hint="give the recording with its sound")
        stream, warning = choose_audio(info, workspace.conversation, _language(workspace))
        settings = workspace.settings.media
        report = extract_audio(media, info, stream, source["duration"], workspace.artifact("audio.flac"), settings)
        _check_decoded(media, stream, report.decoded, settings.duration_tolerance)
        holes = source["audio_holes"].get(str(stream.track), [])
        warnings = [warning] if warning else []
        if report.mean_dbfs < settings.quiet_dbfs:
            warnings.append(f"very quiet: {report.mean_dbfs} dB on average")
        if report.clipped_share > 0.001:
            warnings.append(f"overdriven: {report.clipped_share:.1%} of the samples at full scale")
        if report.mix != "mean":
            warnings.append(f"used {report.mix} alone: mixed together, the channels cancel out")
        if report.decode_errors:
            warnings.append(f"{report.decode_errors} damaged places in the sound")
        if holes:
            total = sum(end - start for start, end in holes)
            warnings.append(f"{len(holes)} holes of {total:.1f} s in the sound, filled with silence")
        content = {**report.to_json(), "track": stream.track, "holes": holes, "warnings": warnings}
        write_json(workspace.artifact("audio.json"), content)
        kept = ("duration", "mean_dbfs", "peak_dbfs", "clipped_share", "channels", "mix", "decode_errors", "warnings")
        return {name: content[name] for name in kept}


def _language(workspace: Workspace) -> str:
    return workspace.conversation.language or workspace.settings.recognition.language


def _check_whole(media: Path, info: MediaInfo, packets: Mapping[int, PacketTimes], tolerance: float) -> None:
    """Compare what the header promises with where the data ends."""
    end = max((times.end for times in packets.values()), default=0.0)
    promised = max(info.duration, _promised_by_riff(media, info))
    if promised - end > tolerance:
        msg = f"the recording is cut off: it says it is {promised:.1f} s long, its data ends at {end:.1f} s"
        raise InputError(msg, file=media, hint="copy or download it again; raise media.duration_tolerance to accept it")


def _check_decoded(media: Path, stream: AudioStream, decoded: float, tolerance: float) -> None:
    promised = stream.start + stream.duration if stream.duration is not None else decoded
    if promised - decoded > tolerance:
        msg = f"the sound is cut off: it should end at {promised:.1f} s, decoding ends at {decoded:.1f} s"
        raise InputError(msg, file=media, hint="copy or download it again; raise media.duration_tolerance to accept it")


def _promised_by_riff(media: Path, info: MediaInfo) -> float:
    """Seconds that the header of a WAV file promises; ffprobe quietly goes by the size of the file."""
    if info.format != "wav" or not info.duration:
        return 0.0
    with media.open("rb") as opened:
        head = opened.read(8)
    size = media.stat().st_size
    promised = int.from_bytes(head[4:8], "little") + 8
    if head[:4] != b"RIFF" or promised - 8 in _RIFF_UNKNOWN or promised <= size:
        return 0.0
    return info.duration * promised / size


def _picture_warnings(info: MediaInfo) -> list[str]:
    if info.video is None:
        return []
    warnings = []
    if info.video.variable_frame_rate:
        warnings.append("the frame rate varies")
    if info.video.hdr:
        warnings.append("the picture is HDR: colours are not converted")
    return warnings
