"""What a recording is: streams, sizes, lengths, and whether the file is whole."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.conversation import Conversation
from pipeline.errors import InputError
from pipeline.extras import load
from pipeline.media.ffmpeg import SAFE_INPUT, binary, file_url, shown
from pipeline.store import Json
from pipeline.times import Seconds

__all__ = ["AudioStream", "MediaInfo", "PacketTimes", "VideoStream", "choose_audio", "probe", "scan_packets"]

_HDR = frozenset({"smpte2084", "arib-std-b67"})


@dataclass(frozen=True)
class AudioStream:
    """One audio track."""

    track: int
    """Counted from 0 among the audio tracks."""
    index: int
    """Index among all streams of the file."""
    codec: str
    language: str | None
    is_default: bool
    channels: int
    sample_rate: int
    """Hz."""
    start: Seconds
    """When it begins, from the start of the clip."""
    duration: Seconds | None
    """As the file states it; None where it does not."""


@dataclass(frozen=True)
class VideoStream:
    """The moving picture; an attached cover is none."""

    index: int
    codec: str
    width: int
    """Pixels as shown: upright, with square pixels."""
    height: int
    rotation: int
    """Degrees clockwise by which a player turns the stored picture: 0, 90, 180 or 270."""
    fps: float
    """Mean frames a second."""
    variable_frame_rate: bool
    hdr: bool
    start: Seconds
    duration: Seconds | None


@dataclass(frozen=True)
class MediaInfo:
    """A recording.

    The clip's zero is the start of the container: the earliest start of any stream, which is what a player shows as
    0:00 and what subtitles refer to.
    """

    format: str
    duration: Seconds
    """Length as the file states it; 0 where it does not (a live recording)."""
    clock_start: Seconds
    """The file's own time stamp at the clip's zero."""
    audio: tuple[AudioStream, ...]
    video: VideoStream | None

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]  # tuples become lists


@dataclass(frozen=True)
class PacketTimes:
    """When the data of one stream really lies, from the start of the clip."""

    start: Seconds
    end: Seconds
    holes: tuple[tuple[Seconds, Seconds], ...]
    """Stretches without data between start and end."""


def probe(path: Path) -> MediaInfo:
    """Read the headers of a recording.

    Raises:
        InputError: If the file is missing, empty, no recording, or points to other files.
        PrerequisiteError: If ffprobe or ffmpeg-python is missing.
    """
    ffmpeg = load("ffmpeg", "speech")
    if not path.is_file():
        msg = "there is no such file"
        raise InputError(msg, file=path, hint="check `media:` in conversation.yaml, or add the recording again")
    if path.stat().st_size == 0:
        msg = "the file is empty"
        raise InputError(msg, file=path, hint="copy the recording again")
    try:
        found = ffmpeg.probe(file_url(path), cmd=binary("ffprobe"), **SAFE_INPUT)
    except ffmpeg.Error as error:
        raise _unreadable(error.stderr.decode(errors="replace"), path) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        msg = "what the file says of itself cannot be read"
        raise InputError(msg, file=path, hint="convert it with another program") from error
    return _media_info(found, path)


def choose_audio(info: MediaInfo, conversation: Conversation, language: str) -> tuple[AudioStream, str | None]:
    """The audio track to use, and a warning if there was a choice.

    The rule: the configured track, else the first in the spoken language, else the one flagged as default, else the
    first.

    Raises:
        InputError: If the configured track does not exist.
    """
    tracks = info.audio
    wanted = conversation.audio_track
    if wanted is not None:
        if wanted >= len(tracks):
            msg = f"there is no audio track {wanted}; the recording has {len(tracks)}"
            raise InputError(msg, file=conversation.media, hint="change `audio_track:`, which counts from 0")
        return tracks[wanted], None
    spoken = [track for track in tracks if _same_language(track.language, language)]
    flagged = [track for track in tracks if track.is_default]
    chosen = (spoken or flagged or list(tracks))[0]
    if len(tracks) == 1:
        return chosen, None
    names = ", ".join(f"{track.track} ({track.language or 'language unknown'})" for track in tracks)
    return chosen, f"used audio track {chosen.track} of {names}; `audio_track:` chooses another"


def scan_packets(path: Path, info: MediaInfo, *, hole: Seconds = 0.1) -> Mapping[int, PacketTimes]:
    """Read through the file, without decoding, and say where the data of each stream lies.

    Args:
        path: The recording.
        info: What `probe` says of it.
        hole: Shortest stretch without data that counts, in seconds.

    Returns:
        Stream index to times, for the streams in ``info``.

    Raises:
        InputError: If the file cannot be read through.
    """
    options = [item for name, value in SAFE_INPUT.items() for item in (f"-{name}", value)]
    command = [binary("ffprobe"), "-v", "error", *options, "-show_entries"]
    command += ["packet=stream_index,pts_time,dts_time,duration_time", "-of", "compact=nk=0:p=0"]
    command += ["-i", file_url(path)]
    wanted = {stream.index for stream in info.audio} | ({info.video.index} if info.video else set())
    # Pictures are stored out of order and may stand for as long as they like: only sound can have holes.
    times = {index: _Packets(math.inf if info.video and index == info.video.index else hole) for index in wanted}
    # A session of its own: what Ctrl-C ends early would look like a file that is cut off.
    apart: dict[str, Any] = {"start_new_session": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, errors="replace", **apart) as run:
        for line in run.stdout or ():
            values = dict(part.partition("=")[::2] for part in line.strip().split("|"))
            if (index := int(values.get("stream_index", -1))) in times:
                start = _number(values.get("pts_time"))
                start = _number(values.get("dts_time")) if start is None else start
                if start is not None:
                    times[index].add(start, _number(values.get("duration_time")) or 0.0)
        complaint = (run.stderr.read() if run.stderr else "").strip()
    if run.returncode != 0:
        raise _unreadable(complaint, path)
    return {index: packets.times(info.clock_start) for index, packets in times.items() if packets.seen}


class _Packets:
    """Collects the packets of one stream; memory does not grow with their number, only with the holes."""

    def __init__(self, hole: Seconds) -> None:
        self.seen = False
        self._hole = hole
        self._start = math.inf
        self._end = -math.inf
        self._holes: list[tuple[Seconds, Seconds]] = []

    def add(self, start: Seconds, duration: Seconds) -> None:
        """A packet, in any order; a jump beyond all before is a hole."""
        if self.seen and start - self._end > self._hole:
            self._holes.append((self._end, start))
        self.seen = True
        self._start = min(self._start, start)
        self._end = max(self._end, start + duration)

    def times(self, zero: Seconds) -> PacketTimes:
        """Relative to the start of the clip."""
        holes = tuple((round(start - zero, 3), round(end - zero, 3)) for start, end in self._holes)
        return PacketTimes(round(self._start - zero, 3), round(self._end - zero, 3), holes)


def _unreadable(complaint: str, path: Path) -> InputError:
    if "not on whitelist" in complaint:
        msg = "the file is a playlist, a list of files, or of a kind that is not accepted"
        return InputError(msg, file=path, hint="give the recording itself, for example as mp4, mkv, wav or mp3")
    first = shown(complaint.strip().splitlines()[-1] if complaint.strip() else "no reason given", path)
    if "moov atom not found" in complaint:
        msg = "the recording is incomplete: its index is missing, or it is no recording"
        return InputError(msg, file=path, hint="copy or download it again")
    msg = f"the file cannot be read as a recording: {first.removeprefix(f'{path.name}: ')}"
    return InputError(msg, file=path, hint="play it to see if it is whole, or convert it to mp4")


def _media_info(found: Mapping[str, Any], path: Path) -> MediaInfo:
    zero = _number(found["format"].get("start_time")) or 0.0
    streams: Sequence[Mapping[str, Any]] = found.get("streams", [])
    audio = tuple(_audio_streams(streams, zero))
    pictures = [stream for stream in streams if stream.get("codec_type") == "video" and not _is_cover(stream)]
    video = _video_stream(pictures[0], zero) if pictures else None
    if not audio and video is None:
        msg = "there is neither sound nor moving picture in the file"
        raise InputError(msg, file=path, hint="give a recording, for example mp4, mkv, wav or mp3")
    form, duration = str(found["format"].get("format_name", "")), _number(found["format"].get("duration")) or 0.0
    if "matroska" in form:  # states where the last stream ends, not how long the clip is
        duration -= zero if zero > 0 else 0.0
    return MediaInfo(
        format=form,
        duration=round(duration, 3),
        clock_start=zero,
        audio=audio,
        video=video,
    )


def _audio_streams(streams: Sequence[Mapping[str, Any]], zero: Seconds) -> Iterator[AudioStream]:
    sounding = [stream for stream in streams if stream.get("codec_type") == "audio" and stream.get("channels")]
    for track, stream in enumerate(sounding):
        language = stream.get("tags", {}).get("language")
        yield AudioStream(
            track=track,
            index=int(stream["index"]),
            codec=str(stream.get("codec_name", "unknown")),
            language=language if language != "und" else None,
            is_default=bool(stream.get("disposition", {}).get("default")),
            channels=int(stream["channels"]),
            sample_rate=int(stream.get("sample_rate", 0)),
            start=round((_number(stream.get("start_time")) or zero) - zero, 3),
            duration=_stated_duration(stream),
        )


def _video_stream(stream: Mapping[str, Any], zero: Seconds) -> VideoStream:
    turned = _rotation(stream)
    width, height = float(stream.get("width", 0)), float(stream.get("height", 0))
    aspect = re.fullmatch(r"(\d+):(\d+)", str(stream.get("sample_aspect_ratio", "")))
    if aspect and int(aspect[1]) and int(aspect[2]):
        width = width * int(aspect[1]) / int(aspect[2])
    if turned in (90, 270):
        width, height = height, width
    mean, base = _rate(stream.get("avg_frame_rate")), _rate(stream.get("r_frame_rate"))
    return VideoStream(
        index=int(stream["index"]),
        codec=str(stream.get("codec_name", "unknown")),
        width=round(width),
        height=round(height),
        rotation=turned,
        fps=round(mean or base, 3),
        variable_frame_rate=bool(mean and base and abs(mean - base) / base > 0.01),
        hdr=stream.get("color_transfer") in _HDR,
        start=round((_number(stream.get("start_time")) or zero) - zero, 3),
        duration=_stated_duration(stream),
    )


def _is_cover(stream: Mapping[str, Any]) -> bool:
    disposition = stream.get("disposition", {})
    return bool(disposition.get("attached_pic") or disposition.get("still_image"))


def _rotation(stream: Mapping[str, Any]) -> int:
    """Degrees clockwise. ffprobe states the display matrix anticlockwise, an old tag clockwise."""
    for data in stream.get("side_data_list", ()):
        turn = _number(data.get("rotation"))
        if turn is not None:
            return round(-turn / 90) * 90 % 360
    tag = _number(stream.get("tags", {}).get("rotate"))
    return round((tag or 0) / 90) * 90 % 360


def _stated_duration(stream: Mapping[str, Any]) -> Seconds | None:
    stated = _number(stream.get("duration"))
    return None if stated is None else round(stated, 3)


def _rate(text: Any) -> float:
    above, _, below = str(text or "0/0").partition("/")
    return float(above) / float(below) if _number(below) else 0.0


def _number(text: Any) -> float | None:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


_ISO_639 = {"en": "eng", "de": "deu", "fr": "fra", "es": "spa", "it": "ita", "nl": "nld", "pt": "por", "zh": "zho"}
_ALIASES = {"ger": "deu", "fre": "fra", "dut": "nld", "chi": "zho"}


def _same_language(tag: str | None, language: str) -> bool:
    """Whether a track's three-letter tag is the spoken language."""
    if tag is None:
        return False
    tag = _ALIASES.get(tag.lower(), tag.lower())
    return tag in (language.lower(), _ISO_639.get(language.lower(), language.lower()))
