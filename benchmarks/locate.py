"""Scenes found in whole episodes made of real recordings: how many, how exactly, and what it costs.

Run it with ``python -m benchmarks.locate [MINUTES] [FOLDER] [SEED]``: three episodes of that many minutes (default 20),
ten scenes in them and one that is in none, one episode 25/24 times faster. Recognition is most of the time; with a
FOLDER everything is kept there, and a second run shows what searching costs alone. SEED (default 1) decides what lies
between the scenes.

Two errors are printed for each scene: of the place that was found, and of the clip, measured against the recording by
its sound, at the beginning and at the end.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

from benchmarks.made_episodes import RATE, Made, Scene, make_episodes, scenes, write_release
from pipeline.annotation.formats.transfer import take
from pipeline.annotation.release import import_release
from pipeline.build import find_workspaces
from pipeline.locate.decide import Status, confirm, locate_scene
from pipeline.locate.episodes import episode_line, find_episodes, hear
from pipeline.locate.index import WordIndex
from pipeline.locate.run import locate
from pipeline.locate.scene import scene_of
from pipeline.media.audio import extract_audio, read_audio
from pipeline.media.probe import probe
from pipeline.settings import Settings
from pipeline.speech.models import Models
from pipeline.station import Workspace

MEDIA = Path(__file__).resolve().parents[2] / "shared" / "media"
SPEEDS = (1.0, 25 / 24, 1.0)
ABSENT = "role_play_3"


def main(minutes: float, folder: Path, seed: int) -> None:
    """Make what is missing in the folder, locate, and print the table."""
    made = prepared(minutes, folder, seed)
    settings = Settings(data=folder / "data", raw=folder / "raw_video")
    settings.raw.mkdir(exist_ok=True)
    import_release([folder / "release.jsonl"], settings.raw)
    workspaces = find_workspaces(settings).workspaces
    begun = perf_counter()
    report = locate(workspaces, folder / "episodes", settings, Models(settings))
    took = perf_counter() - begun
    results = {result.conversation_id.removeprefix("made/"): result for result in report.results}
    by_name = {
        workspace.conversation.id.removeprefix("made/"): workspace for workspace in find_workspaces(settings).workspaces
    }
    print("| scene | in | found in | place error s | clip error s, begin / end | speed | heard | next | confidence |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    placed = 0
    for each in made:
        result = results[each.scene.name]
        best = result.best
        cells = [each.scene.name, each.file or "none", result.outcome.value]
        if best is not None and result.verdict is not None:
            name = result.episodes[best.episode]
            right = name == each.file and result.outcome.value == "located"
            error = best.offset - each.offset
            placed += right and abs(error) <= 0.2
            ends = (
                " / ".join(f"{lag:+.3f}" for lag in clip_errors(each.scene, by_name[each.scene.name], folder))
                if right
                else ""
            )
            runner_up = result.verdict.runner_up
            cells[2] = name if right else f"{result.outcome.value} ({name})"
            cells += [f"{error:+.3f}" if right else "", ends, f"{float(best.speed):.4f}", f"{best.share:.0%}"]
            cells += [f"{runner_up.share:.0%}" if runner_up else "none", f"{result.verdict.confidence:.2f}"]
        print(f"| {' | '.join(cells)} |")
        if result.reason:
            print(f"<!-- {each.scene.name}: {result.reason} -->")
    hours = report.episode_seconds / 3600
    there = [each for each in made if each.file]
    print(f"\n{placed} of {len(there)} placed within 0.2 s")
    missed = refused_elsewhere(made, workspaces, folder, settings)
    print(f"{sum(missed)} of {len(missed)} refused where the episode of the scene is left out")
    print(f"recognition {report.recognition_seconds:.1f} s for {hours:.2f} h")
    print(f"search {report.search_seconds:.2f} s: {report.search_seconds / hours:.2f} s an hour of episode")
    cutting = sum(result.cut_seconds for result in report.results)
    print(f"cutting {cutting:.1f} s; all {took:.1f} s")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


def prepared(minutes: float, folder: Path, seed: int = 1) -> list[Made]:
    """Episodes and release in the folder, made unless they are there."""
    every = {scene.name: scene for scene in scenes(MEDIA)}
    truth = folder / "truth.json"
    if not truth.is_file():
        (folder / "episodes").mkdir(parents=True, exist_ok=True)
        inside = [scene for scene in every.values() if scene.name != ABSENT]
        present = [inside[number::3] for number in range(3)]
        made = make_episodes(present, folder / "episodes", minutes=minutes, speeds=SPEEDS, seed=seed)
        assert sorted(each.scene.name for each in made) == sorted(scene.name for scene in chain(*present))
        made.append(Made(every[ABSENT], None, 0.0, 1.0))
        write_release(made, folder / "release.jsonl")
        truth.write_text(json.dumps([[each.scene.name, each.file, each.offset, each.speed] for each in made]))
    return [Made(every[name], *rest) for name, *rest in json.loads(truth.read_text())]


def refused_elsewhere(
    made: list[Made], workspaces: Sequence[Workspace], folder: Path, settings: Settings
) -> list[bool]:
    """Whether each scene is refused when only the other episodes are there, with their recaps and echoes of it."""
    found = find_episodes(folder / "episodes", settings)
    line = episode_line(Models(settings))
    heard = [
        hear(found, file, digest, line, settings, None).heard
        for file, digest in zip(found.files, found.digests, strict=True)
    ]
    by_name = {workspace.conversation.id.removeprefix("made/"): workspace for workspace in workspaces}
    refused = []
    for file in {each.file for each in made}:
        index = WordIndex([episode for episode in heard if episode.name != file])
        looked_for = []
        for each in made:
            workspace = by_name[each.scene.name]
            path = workspace.source(workspace.conversation.annotations)
            if each.file == file and path is not None:
                rows = take(path, workspace.conversation).loaded.annotation.rows
                looked_for.append(locate_scene(scene_of(each.scene.name, rows), index))
        refused += [verdict.status is Status.REFUSED for verdict in confirm(looked_for, index)]
    return refused


def clip_errors(scene: Scene, workspace: Workspace, folder: Path) -> tuple[float, float]:
    """By how much the clip is later than the scene, in its first and its last ten seconds with sound."""
    media = workspace.raw / str(workspace.conversation.media)
    info = probe(media)
    target = folder / "clip.flac"
    extract_audio(media, info, info.audio[0], info.duration, target, workspace.settings.media)
    clip = read_audio(target)
    last = round(min(scene.rows[-1][1] + 0.5, len(scene.sound) / RATE) * RATE)
    first = max(0, round(scene.rows[0][0] * RATE) - RATE // 2)
    return _lag(scene.sound, clip, first), _lag(scene.sound, clip, max(0, last - 10 * RATE))


def _lag(scene: npt.NDArray[np.float32], clip: npt.NDArray[np.float32], start: int) -> float:
    """Seconds by which ten seconds of the scene are heard later in the clip, by their loudness, within a second."""
    reach = 100

    def loudness(sound: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        frames = len(sound) // (RATE // 100)
        power = np.square(sound[: frames * (RATE // 100)].astype(np.float64)).reshape(frames, -1).mean(axis=1)
        levels: npt.NDArray[np.float64] = np.log(power + 1e-6)
        return levels

    wanted = loudness(scene[start : start + 10 * RATE])
    begin = start // (RATE // 100) - reach
    heard = loudness(clip)
    best, found = -np.inf, 0
    for shift in range(2 * reach + 1):
        at = begin + shift
        if at < 0 or at + len(wanted) > len(heard):
            continue
        alike = float(np.corrcoef(wanted, heard[at : at + len(wanted)])[0, 1])
        if alike > best:
            best, found = alike, shift - reach
    return found / 100


if __name__ == "__main__":
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    chosen = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    if len(sys.argv) > 2:
        main(length, Path(sys.argv[2]), chosen)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(length, Path(temporary), chosen)
