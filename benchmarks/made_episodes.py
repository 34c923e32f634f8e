"""Whole episodes made of real recordings with other speech, music and silence between them, with known truth.

The scenes are the recordings with a word-for-word reference, and parts of the demo's role play. Everything between them
is spoken by synthetic voices; some of it repeats sentences of the scenes, and each episode but the first begins with a
recap of a scene of the one before.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile

from benchmarks.recordings import recordings
from pipeline.speech.nist import read_stm

__all__ = ["RATE", "Made", "Scene", "make_episodes", "scenes", "write_release"]

RATE = 16_000
_VOICES = ("slt", "awb", "kal", "rms")
_ECHO = 12
"""Words of a sentence, at most, that is said again between the scenes."""
_PROJECT = Path(__file__).resolve().parent.parent

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Scene:
    """A scene: its sound, and what is said in it."""

    name: str
    sound: Samples
    rows: list[tuple[float, float, str, str]]
    """Start, end, speaker, text."""


@dataclass(frozen=True)
class Made:
    """Where a scene was put."""

    scene: Scene
    file: str | None
    """None where it is in no episode."""
    offset: float
    """Seconds of the episode."""
    speed: float
    """How many times faster the episode runs."""


def scenes(media: Path) -> list[Scene]:
    """Recordings with a reference of at least forty words, then four parts of the role play."""
    found = []
    for recording in recordings(media):
        rows = sorted(
            (part.start, part.end, part.speaker, part.text) for part in read_stm(recording.stm) if part.text.strip()
        )
        if recording.media.suffix == ".wav" and sum(len(text.split()) for *_, text in rows) >= 40:
            found.append(Scene(recording.name, _sound(recording.media), rows))
    folder = _PROJECT / "raw_video" / "role_play"
    sound = _sound(folder / "role_play.mp4")
    annotated = json.loads((folder / "annotations.json").read_text("utf-8"))["rows"]
    for number in range(4):
        start, end = 65.0 * number, 65.0 * (number + 1)
        rows = [
            (row["start_time"] - start, row["end_time"] - start, row["primary_speaker"], row["dialogue_cleaned"])
            for row in annotated
            if start <= row["start_time"] and row["end_time"] <= end
        ]
        found.append(Scene(f"role_play_{number + 1}", sound[round(start * RATE) : round(end * RATE)], rows))
    return found


def make_episodes(
    present: Sequence[Sequence[Scene]],
    folder: Path,
    *,
    minutes: float,
    speeds: Sequence[float],
    seed: int = 1,
) -> list[Made]:
    """Write ``Show S01E0n.mp4`` for each list of scenes, with a small test picture, and say where each scene lies."""
    chance = random.Random(seed)
    talk = _Talk(seed)
    # A phrase that is said elsewhere too, not a monologue: that would be a second copy of a short scene.
    echoes = [
        text
        for scene in (one for scenes_of in present for one in scenes_of)
        for *_, text in scene.rows
        if len(text.split()) <= _ECHO
    ]
    made = []
    for number, (inside, speed) in enumerate(zip(present, speeds, strict=True), start=1):
        length = minutes * 60 * speed
        room = (length - sum(len(scene.sound) for scene in inside) / RATE) / (len(inside) + 1)
        pieces: list[Samples] = []
        if number > 1:
            # Of the longest scene: a recap is a small part of what it repeats.
            before = max(present[number - 2], key=lambda scene: len(scene.sound)).sound
            pieces.append(before[4 * RATE : 16 * RATE])
        places: list[float] = []
        for scene in inside:
            pieces.append(_between(talk, echoes, room - (sum(map(len, pieces)) / RATE if not places else 0), chance))
            places.append(sum(map(len, pieces)) / RATE)
            pieces.append(scene.sound)
        pieces.append(_between(talk, echoes, max(5.0, length - sum(map(len, pieces)) / RATE), chance))
        name = f"Show S01E{number:02d}.mp4"
        _write(np.concatenate(pieces), speed, folder / name)
        made += [Made(scene, name, place / speed, speed) for scene, place in zip(inside, places, strict=True)]
    return made


def write_release(made: Sequence[Made], target: Path) -> None:
    """The scenes as a release: rows with times relative to the scene's clip."""
    lines = []
    for each in made:
        people = sorted({speaker for *_, speaker, _ in each.scene.rows} - {"Therapist"})
        rows: list[dict[str, Any]] = [
            {
                "row_index": index,
                "start_time": round(max(0.0, start), 3),
                "end_time": round(end, 3),
                "primary_speaker": speaker,
                "target": [],
                "dialogue_cleaned": text,
            }
            for index, (start, end, speaker, text) in enumerate(each.scene.rows, start=1)
        ]
        sample = {"sample_id": f"made/{each.scene.name}", "scenario": "couple", "participants": people, "rows": rows}
        lines.append(json.dumps(sample, ensure_ascii=False))
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


class _Talk:
    """Sentences that nobody says in a session, none of them twice: the same ones whatever else is drawn by chance."""

    _WHO = (
        "The gardener",
        "A tired pilot",
        "My neighbour",
        "The old baker",
        "Every passenger",
        "Some farmer",
        "The young clerk",
        "A quiet sailor",
        "The station master",
        "Our postman",
        "The painter",
        "A visiting judge",
    )
    _DOES = (
        "carried",
        "repaired",
        "painted",
        "borrowed",
        "measured",
        "collected",
        "buried",
        "photographed",
        "sold",
        "weighed",
        "polished",
        "described",
    )
    _WHAT = (
        "a broken lamp",
        "seven wooden boats",
        "the copper kettle",
        "a bag of apples",
        "the northern map",
        "a silver trumpet",
        "two heavy ladders",
        "the winter curtains",
        "a crate of melons",
        "the village clock",
        "an empty barrel",
        "the orange bicycle",
    )
    _WHERE = (
        "behind the railway bridge",
        "before the harvest began",
        "near the frozen harbour",
        "under a striped umbrella",
        "during the long eclipse",
        "across the flooded valley",
        "beside the marble fountain",
        "after the last ferry",
        "above the noisy market",
        "inside the tall windmill",
    )

    def __init__(self, seed: int) -> None:
        found = [f"{' '.join(parts)}." for parts in itertools.product(self._WHO, self._DOES, self._WHAT, self._WHERE)]
        random.Random(seed).shuffle(found)
        self._sentences = iter(found)

    def take(self, count: int) -> str:
        return " ".join(itertools.islice(self._sentences, count))


def _between(talk: _Talk, echoes: Sequence[str], seconds: float, chance: random.Random) -> Samples:
    """Speech, an echo of a scene's sentence now and then, music, silence; exactly so long."""
    wanted = max(0, round(seconds * RATE))
    pieces: list[Samples] = []
    while sum(map(len, pieces)) < wanted:
        kind = chance.random()
        if kind < 0.1:
            pieces.append(np.zeros(round(chance.uniform(1, 4) * RATE), dtype=np.float32))
        elif kind < 0.2:
            pieces.append(_music(chance.uniform(4, 10), chance))
        elif kind < 0.3 and echoes:
            pieces.append(_speak(chance.choice(echoes), chance.choice(_VOICES)))
        else:
            pieces.append(_speak(talk.take(4), chance.choice(_VOICES)))
    return np.concatenate(pieces)[:wanted] if pieces else np.zeros(0, dtype=np.float32)


def _music(seconds: float, chance: random.Random) -> Samples:
    time = np.arange(round(seconds * RATE)) / RATE
    chord = sum(np.sin(2 * np.pi * chance.choice((220, 262, 330, 392, 440)) * time) for _ in range(3))
    return (0.08 * chord * (0.6 + 0.4 * np.sin(2 * np.pi * 2 * time))).astype(np.float32)


def _speak(text: str, voice: str) -> Samples:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "text.txt"), Path(folder, "speech.wav")
        source.write_text(text, encoding="utf-8")
        _ffmpeg(
            "-f", "lavfi", "-i", f"flite=textfile={source}:voice={voice}", "-ar", str(RATE), "-ac", "1", str(target)
        )
        return _read(target)


def _sound(recording: Path) -> Samples:
    """16 kHz mono, as loud as the speech between: some recordings are very quiet."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "sound.wav")
        _ffmpeg("-i", f"file:{recording}", "-vn", "-ar", str(RATE), "-ac", "1", str(target))
        sound = _read(target)
    return (sound * min(20.0, 0.08 / max(1e-6, float(np.sqrt(np.mean(np.square(sound))))))).clip(-1, 1)


def _read(path: Path) -> Samples:
    samples: Samples = soundfile.read(path, dtype="float32")[0]
    return samples


def _write(sound: Samples, speed: float, target: Path) -> None:
    """Sound with a test picture of 25 frames a second, played faster by ``speed``, with its pitch raised as on air."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "plain.wav")
        soundfile.write(plain, sound, RATE)
        length = len(sound) / RATE / speed
        _ffmpeg(
            "-f", "lavfi", "-i", f"testsrc2=size=192x108:rate=25:duration={length:.3f}", "-i", str(plain),
            "-af", f"asetrate={round(RATE * speed)},aresample=44100", "-c:v", "libx264", "-preset", "ultrafast",
            "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "96k", f"file:{target}",
        )  # fmt: skip


def _ffmpeg(*arguments: str) -> None:
    subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "error", *arguments], check=True)
