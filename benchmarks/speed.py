"""Speed and memory of the speech stations against the ``whisperx`` command and direct calls of the libraries.

    python -m benchmarks.speed [--media FOLDER] [--json FILE] [--only short|diarization|long|memory]

Everything that is compared has the same models (the embedded ones), beam, batch, number format and threads. Each figure
comes from a process of its own, imports and loading of models included, unless the table says otherwise; what is
compared runs one after the other in one call. ``whisperx`` runs without forced alignment, for which there is no
embedded model: it gives no word times then, and has less to do than the stations.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.recordings import Recording, recordings
from pipeline.settings import Settings, load_settings
from pipeline.store import Json

REPOSITORY = Path(__file__).resolve().parent.parent
SPEECH = ("source", "audio", "words", "speakers", "turns")
PUBLISHED_HOURS = 17.75
SHORT = 10


def peak_mib() -> int:
    """The most memory that this process ever had."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def load_shipped(**_: Any) -> Any:
    """The pipeline as pyannote ships it, over the embedded networks, as a local pipeline folder names it."""
    from pyannote.audio.pipelines import SpeakerDiarization

    from pipeline.speech import networks, weights
    from pipeline.speech.diarizer import PARAMETERS

    settings = load_settings().diarization
    pipeline = SpeakerDiarization(
        segmentation=networks.load_segmentation(weights.embedded_segmentation()),
        embedding=networks.load_voice_encoder(weights.embedded_voice_embedding()),
        clustering="AgglomerativeClustering",
        plda=networks.NoPlda(),
        segmentation_batch_size=settings.batch_size,
        embedding_batch_size=settings.batch_size,
    )
    clustering = {**PARAMETERS["clustering"], "threshold": settings.clustering_threshold}
    return pipeline.instantiate({"segmentation": dict(PARAMETERS["segmentation"]), "clustering": clustering})


def stations(media: Sequence[Path], folder: Path) -> dict[str, Json]:
    """Source to turns for each recording, as `rescue build` does; seconds and the peak memory after each station."""
    from pipeline.build import build_conversation
    from pipeline.build import stations as line_of
    from pipeline.conversation import Conversation, SpeakerBounds
    from pipeline.privacy import go_private
    from pipeline.speech.models import Models
    from pipeline.station import State, Workspace

    go_private()
    settings = load_settings(data=folder / "data", raw=folder / "raw")
    line = line_of(Models(settings))
    spent: dict[str, float] = {}
    peaks: dict[str, int] = {}
    for number, path in enumerate(media):
        raw = settings.raw / f"{number:03d}"
        raw.mkdir(parents=True)
        (raw / path.name).symlink_to(path)
        conversation = Conversation(id=raw.name, media=path.name, speakers=SpeakerBounds(min=2, max=4))
        workspace = Workspace.of(conversation, raw, settings)
        for name in SPEECH:
            began = perf_counter()
            (outcome,) = build_conversation(workspace, line, only=(name,))
            spent[name] = spent.get(name, 0.0) + perf_counter() - began
            assert outcome.state is State.DONE, outcome.record.reason
            peaks[name] = peak_mib()
    return {"stations": {name: round(seconds, 2) for name, seconds in spent.items()}, "peaks": peaks}


def direct(media: Sequence[Path], folder: Path) -> dict[str, Json]:
    """The libraries called directly with the same models: decode, recognise, diarize; nothing is kept."""
    del folder
    import torch
    from faster_whisper import BatchedInferencePipeline, decode_audio

    from pipeline.privacy import go_private
    from pipeline.speech.diarize import diarize
    from pipeline.speech.models import Models
    from pipeline.speech.voice import DETECTION

    go_private()
    torch.manual_seed(0)
    settings = load_settings()
    models = Models(settings)
    options = settings.recognition
    for path in media:
        audio = decode_audio(str(path))
        segments, _ = BatchedInferencePipeline(models.recognizer()).transcribe(
            audio, language="en", beam_size=options.beam_size, batch_size=options.batch_size, word_timestamps=True,
            without_timestamps=False, vad_parameters=dict(DETECTION),
        )  # fmt: skip
        words = [word for segment in segments for word in segment.words or ()]
        assert words
        assert diarize(models.diarizer(), audio, None).turns
    return {}


def diarization(media: Sequence[Path], folder: Path) -> dict[str, Json]:
    """Both pipelines on each recording of a folder with the number of speakers told, models loaded: seconds and DER."""
    import torch
    from faster_whisper import decode_audio

    from pipeline.conversation import SpeakerBounds
    from pipeline.privacy import go_private
    from pipeline.scoring import Transcript
    from pipeline.speech.diarize import diarize
    from pipeline.speech.models import Models

    del folder
    go_private()
    settings = load_settings()
    found: dict[str, Json] = {}
    own, shipped = Models(settings).diarizer(), load_shipped()
    for recording in recordings(media[0]):
        audio = decode_audio(str(recording.media))
        bounds = SpeakerBounds(min=recording.speaker_count, max=recording.speaker_count)
        row: dict[str, Json] = {"audio_s": round(len(audio) / 16_000, 1)}
        for name, pipeline, threads in (("own", own, 1), ("shipped", shipped, settings.threads)):
            torch.set_num_threads(threads)
            diarize(pipeline, audio[:80_000], bounds)  # what is done once only
            began = perf_counter()
            turns = diarize(pipeline, audio, bounds).turns
            row[f"{name}_s"] = round(perf_counter() - began, 2)
            row[f"{name}_der"] = recording.score(Transcript(tuple(turns), ()), len(audio) / 16_000).der.rate
        found[recording.name] = row
        print(recording.name, row, file=sys.stderr, flush=True)
    return {"recordings": found}


STEPS: Mapping[str, Callable[[Sequence[Path], Path], dict[str, Json]]] = {
    "stations": stations,
    "direct": direct,
    "diarization": diarization,
}


def run(step: str, media: Sequence[Path]) -> dict[str, Json]:
    """A step in a process of its own: its seconds, its peak memory, and what it tells."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.speed", "--step", step, "--folder", folder, *map(str, media)]
        began = perf_counter()
        done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE)
        seconds = perf_counter() - began
    return {"seconds": round(seconds, 2), **json.loads(done.stdout.splitlines()[-1])}


def whisperx(media: Sequence[Path], settings: Settings) -> float:
    """Seconds of one ``whisperx`` command."""
    from pipeline.speech import weights

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.yaml").write_text("pipeline:\n  name: benchmarks.speed.load_shipped\n")
        options = {
            "model": weights.embedded_whisper(), "device": "cpu", "compute_type": settings.recognition.compute_type,
            "language": "en", "batch_size": settings.recognition.batch_size, "diarize_model": folder,
            "beam_size": settings.recognition.beam_size, "threads": settings.threads,
            "output_dir": folder, "output_format": "json", "hf_token": "unused",
        }  # fmt: skip
        listed = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        command = [sys.executable, "-m", "whisperx", *listed, "--no_align", "--diarize", *map(str, media)]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYANNOTE_METRICS_ENABLED": "0"}
        began = perf_counter()
        subprocess.run(command, cwd=REPOSITORY, check=True, env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)  # fmt: skip
        seconds = perf_counter() - began
        missing = [path.name for path in media if not (Path(folder) / f"{path.stem}.json").is_file()]
        assert not missing, missing
    return round(seconds, 2)


def repeat(found: Sequence[Recording], seconds: float, target: Path) -> Path:
    """A recording of a given length: real speech, one recording after the other, again and again."""
    import soundfile
    from faster_whisper import decode_audio

    sounds = [decode_audio(str(one.media)) for one in found]
    with soundfile.SoundFile(target, "w", 16_000, 1, subtype="PCM_16") as written:
        for sound in cycle(sounds):
            if written.tell() >= seconds * 16_000:
                return target
            written.write(sound)
    raise AssertionError


def measure_short(found: Sequence[Recording], settings: Settings) -> dict[str, Json]:
    """Ten short files: the stations in one run, one ``whisperx`` command, ten ``whisperx`` commands."""
    media = [one.media for one in found][:SHORT]
    own = run("stations", media)
    one = whisperx(media, settings)
    many = round(sum(whisperx([path], settings) for path in media), 2)
    print(f"| {SHORT} short files | stations {own['seconds']} s | one whisperx {one} s ({one / own['seconds']:.2f} x) "
          f"| {SHORT} whisperx {many} s ({many / own['seconds']:.2f} x) |", flush=True)  # fmt: skip
    return {"stations": own, "one_whisperx_s": one, "many_whisperx_s": many}


def measure_diarization(media: Path) -> dict[str, Json]:
    """Each recording with both pipelines."""
    rows = run("diarization", [media])["recordings"]
    print(
        "| recording | s | pyannote s | ours s | ratio | DER pyannote | DER ours |\n|---|---:|---:|---:|---:|---:|---:|"
    )
    for name, row in rows.items():
        print(f"| `{name}` | {row['audio_s']} | {row['shipped_s']} | {row['own_s']} | "
              f"{row['shipped_s'] / row['own_s']:.1f} | {row['shipped_der']:.3f} | {row['own_der']:.3f} |")  # fmt: skip
    total = {name: sum(row[name] for row in rows.values()) for name in ("audio_s", "shipped_s", "own_s")}
    print(f"| all | {total['audio_s']:.0f} | {total['shipped_s']:.1f} | {total['own_s']:.1f} | "
          f"{total['shipped_s'] / total['own_s']:.1f} | | |", flush=True)  # fmt: skip
    return dict(rows)


def measure_long(found: Sequence[Recording], minutes: float) -> dict[str, Json]:
    """One long file: the stations against direct calls, and what the published set would take."""
    with tempfile.TemporaryDirectory() as folder:
        long = repeat(found, minutes * 60, Path(folder) / "long.wav")
        bare, own = run("direct", [long]), run("stations", [long])
    hours = own["seconds"] / (minutes * 60) * PUBLISHED_HOURS
    print(f"| {minutes:g} minutes | direct {bare['seconds']} s, {bare['peak_mib']} MiB | stations {own['seconds']} s, "
          f"{own['peak_mib']} MiB | {own['seconds'] / bare['seconds']:.3f} | published set about {hours:.1f} h |",
          flush=True)  # fmt: skip
    return {"direct": bare, "stations": own, "published_hours": round(hours, 2)}


def measure_memory(found: Sequence[Recording]) -> dict[str, Json]:
    """Peak memory of ten minutes and of three hours."""
    result: dict[str, Json] = {}
    for name, minutes in (("10 minutes", 10), ("3 hours", 180)):
        with tempfile.TemporaryDirectory() as folder:
            result[name] = run("stations", [repeat(found, minutes * 60, Path(folder) / "long.wav")])
        print(f"| {name} | {result[name]['seconds']} s | {result[name]['peak_mib']} MiB |", flush=True)
    return result


def main() -> None:
    """Measure and print, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--media", type=Path, default=REPOSITORY.parent / "shared" / "media")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=("short", "diarization", "long", "memory"), action="append")
    parser.add_argument("--minutes", type=float, default=30, help="length of the long file")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("files", type=Path, nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        told = STEPS[options.step](options.files, options.folder)
        print(json.dumps({**told, "peak_mib": peak_mib()}))
        return
    found, settings = recordings(options.media.absolute()), load_settings()
    parts: Mapping[str, Callable[[], dict[str, Json]]] = {
        "short": lambda: measure_short(found, settings),
        "diarization": lambda: measure_diarization(options.media.absolute()),
        "long": lambda: measure_long(found, options.minutes),
        "memory": lambda: measure_memory(found),
    }
    results = {name: measure() for name, measure in parts.items() if not options.only or name in options.only}
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
