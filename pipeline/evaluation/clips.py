"""Row clips as media of a request: sampled frames and sound, or the video itself where the provider takes video."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InputError, PrerequisiteError
from pipeline.evaluation.instances import Request
from pipeline.keys import key_of
from pipeline.media.ffmpeg import binary, file_url

if TYPE_CHECKING:
    from inspect_ai.model import Content

__all__ = ["Clips", "clip_of", "data_uri", "picture", "takes", "takes_pictures"]

_IMAGES = frozenset(
    "anthropic azureai bedrock google grok mistral ollama openai openai-api openrouter sglang together vllm".split()  # noqa: SIM905
)
_SOUND = frozenset({"google", "openai", "openai-api", "openrouter", "vllm"})
_VIDEO = frozenset({"google"})


def takes(provider: str, *, sound: bool = True) -> frozenset[str]:
    """What is sent to a provider of clips: ``video`` alone where it takes that, else ``frames`` and ``sound``.

    Whether the model behind it can read them, only the server knows; its refusal is counted as a failed request.

    Args:
        provider: The part of the model's name before the first stroke.
        sound: Send sound where the provider takes it.

    Raises:
        PrerequisiteError: If it takes neither pictures nor sound.
    """
    if provider in _VIDEO:
        return frozenset({"video"})
    found = frozenset(
        name for name, known in (("frames", _IMAGES), ("sound", _SOUND if sound else ())) if provider in known
    )
    if not found:
        msg = f"the provider {provider!r} takes neither pictures nor sound: mode `clips` cannot be run with it"
        raise PrerequisiteError(msg, hint="use mode `audiovisual`, which tells in words what is seen and heard")
    return found


def takes_pictures(provider: str) -> bool:
    """Whether pictures can be sent to a provider."""
    return provider in _IMAGES


def clip_of(data: Path, conversation_id: str, row: int) -> Path:
    """The clip of a row, below the data folder.

    Raises:
        InputError: If it was not cut.
    """
    clip = data / "conversations" / key_of(conversation_id) / "clips" / f"{row}.mp4"
    if not clip.is_file():
        msg = "the clip of a row is missing"
        raise InputError(
            msg, conversation=conversation_id, file=clip, hint="`rescue build` cuts clips where there is video"
        )
    return clip


class Clips:
    """Makes the media of requests.

    Args:
        kinds: What `takes` gave.
        frames: Pictures of a clip, evenly spread.
    """

    def __init__(self, kinds: frozenset[str], frames: int = 2) -> None:
        self._kinds = kinds
        self._frames = frames

    def __call__(self, request: Request) -> Sequence[Content]:
        """The media of a request, each clip under the number of its row."""
        from inspect_ai.model import ContentAudio, ContentImage, ContentText, ContentVideo  # noqa: PLC0415

        found: list[Content] = []
        for row, clip in zip(request.prompt.clip_rows, request.media, strict=True):
            found.append(ContentText(text=f"Row {row}:"))
            if "video" in self._kinds:
                found.append(ContentVideo(video=data_uri("video/mp4", clip.read_bytes()), format="mp4"))
            if "frames" in self._kinds:
                found.extend(ContentImage(image=data_uri("image/jpeg", frame)) for frame in _frames(clip, self._frames))
            sound = _sound(clip) if "sound" in self._kinds else b""
            if sound:
                found.append(ContentAudio(audio=data_uri("audio/wav", sound), format="wav"))
        return found


def data_uri(kind: str, content: bytes) -> str:
    """Media as an address that holds them."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


@lru_cache(maxsize=512)
def _frames(clip: Path, count: int) -> tuple[bytes, ...]:
    """JPEG pictures from the middles of ``count`` equal parts of a clip, at most 512 pixels wide."""
    seconds = _seconds(clip)
    pictures = [found for part in range(count) if (found := picture(clip, seconds * (part + 0.5) / count))]
    # A clip of one picture has none after its start.
    pictures = pictures or [found for found in [picture(clip, 0.0)] if found]
    if not pictures:
        msg = "the clip shows no picture"
        raise InputError(msg, file=clip, hint="cut the clips again with `rescue build --force`")
    return tuple(pictures)


def picture(clip: Path, at: float) -> bytes:
    """The first picture of a recording from a time on, in seconds, as JPEG, at most 512 pixels wide.

    Empty where there is none.
    """
    return _run("-ss", f"{at:.3f}", "-i", file_url(clip), "-frames:v", "1", "-vf", "scale='min(512,iw)':-2",
                "-f", "image2pipe", "-c:v", "mjpeg", "-")  # fmt: skip


@lru_cache(maxsize=512)
def _sound(clip: Path) -> bytes:
    """The sound of a clip as 16 kHz mono WAV; empty where it has none."""
    return _run("-i", file_url(clip), "-vn", "-ac", "1", "-ar", "16000", "-f", "wav", "-", may_fail=True)


@lru_cache(maxsize=4096)
def _seconds(clip: Path) -> float:
    done = subprocess.run(
        [binary("ffprobe"), "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", file_url(clip)],
        capture_output=True,
        check=False,
        text=True,
    )
    try:
        return float(done.stdout.strip())
    except ValueError as error:
        msg = "the clip cannot be read"
        raise InputError(msg, file=clip, hint="cut the clips again with `rescue build --force`") from error


def _run(*arguments: str, may_fail: bool = False) -> bytes:
    done = subprocess.run([binary("ffmpeg"), "-nostdin", "-v", "error", *arguments], capture_output=True, check=False)
    if done.returncode and not may_fail:
        msg = f"ffmpeg cannot read a clip: {done.stderr.decode(errors='replace').strip()[-200:]}"
        raise InputError(msg, hint="cut the clips again with `rescue build --force`")
    return done.stdout if not done.returncode else b""
