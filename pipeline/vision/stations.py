"""The station of cues: what is seen and how it sounds, for each turn and row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pipeline.errors import PrerequisiteError, SkipStation
from pipeline.media.ffmpeg import version as ffmpeg_version
from pipeline.media.probe import probe
from pipeline.schemas import CUES, read_rows, table_of, write_table
from pipeline.settings import EMBEDDED
from pipeline.speech.attribute import UNKNOWN
from pipeline.speech.nist import read_rttm
from pipeline.speech.prosody import prosody
from pipeline.station import Record, State, Station, Workspace
from pipeline.store import Json, digest_file, read_json
from pipeline.times import Interval
from pipeline.vision.cues import picture_columns, watch
from pipeline.vision.networks import digests, require
from pipeline.vision.speaking import SpokenUnit

__all__ = ["CuesStation"]

_NETWORKS = ("face_detector", "face_recognition")
"""Settings that may name a file."""


class CuesStation(Station):
    """Look at the faces and listen to the voices of every turn and row. It measures; it claims no emotion."""

    name = "cues"
    version = 2
    needs = ("source", "turns")
    uses = ("rows",)
    outputs = ("cues.parquet",)
    packages = ("ai-edge-litert", "librosa", "opencv-python", "scenedetect", "scipy")
    summary_doc = "Measures while somebody speaks: shots, faces, whose lips move, pitch, loudness, pauses. No emotions."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The recording, its sound, the turns, and the rows where there are any."""
        names = ["audio.flac", "source.json", "speakers.rttm", "turns.parquet"]
        if _has_rows(workspace):
            names += ["join.json", "rows.parquet"]
        files = {name: workspace.artifact(name) for name in names}
        media = workspace.source(workspace.conversation.media)
        return {**files, "media": media} if media else files

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """The settings of cues, and the id that the table holds."""
        values = workspace.settings.cues.model_dump(exclude=set(_NETWORKS))  # their content counts, not their place
        return {"conversation_id": workspace.conversation.id, **values}

    def models(self, workspace: Workspace) -> Mapping[str, str]:
        """Digests of the face networks, and the ffmpeg in use."""
        settings = workspace.settings.cues
        own = {name: Path(file) for name in _NETWORKS if (file := getattr(settings, name)) not in (None, EMBEDDED)}
        named = {name: digest_file(file) if file.is_file() else "missing" for name, file in own.items()}
        return {"ffmpeg": ffmpeg_version(), **digests(), **named}

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``cues.parquet``.

        Raises:
            SkipStation: If there is no video, nobody speaks, or the extra ``vision`` is not installed.
            InputError: If the picture cannot be decoded.
            PrerequisiteError: If a network that the settings name is not there or cannot be read.
        """
        media = workspace.source(workspace.conversation.media)
        if media is None or not read_json(workspace.artifact("source.json"))["has_video"]:
            msg = "no video: there is only sound"
            raise SkipStation(msg)
        try:
            require()
        except PrerequisiteError as missing:
            raise SkipStation(missing.message, hint=missing.hint) from missing
        units = [*_turns(workspace), *_rows(workspace)]
        if not units:
            msg = "no turns and no rows"
            raise SkipStation(msg)
        settings, participants = workspace.settings.cues, _participants(workspace)
        speakers = read_rttm(workspace.artifact("speakers.rttm"))
        # Looking waits for the decoder and the networks, which both run beside Python: time to listen in.
        with ThreadPoolExecutor(max_workers=1) as beside:
            listening = beside.submit(prosody, workspace.artifact("audio.flac"), units, speakers)
            watched = watch(media, probe(media), units, settings)
            seen = picture_columns(watched, units, participants, settings)
            heard = listening.result()
        rows = [
            {
                "conversation_id": workspace.conversation.id,
                "unit": unit.kind,
                "unit_index": unit.index,
                "start": unit.interval.start,
                "end": unit.interval.end,
                "speaker": unit.speaker,
                "participant": participants.get(unit.speaker) if unit.speaker else None,
                **picture,
                **sound,
            }
            for unit, picture, sound in zip(units, seen, heard, strict=True)
        ]
        write_table(workspace.artifact("cues.parquet"), table_of(rows, CUES), CUES)
        turns = [row for row in rows if row["unit"] == "turn"]
        return {
            "units": len(units),
            "cuts": len(watched.cuts),
            "face_tracks": len(watched.tracks),
            "turns_with_a_face": sum(row["most_faces"] > 0 for row in turns),
            "turns_with_a_speaking_face": sum(row["speaking_track"] is not None for row in turns),
        }


def _has_rows(workspace: Workspace) -> bool:
    return Record.read(workspace.record("rows")).state is State.DONE


def _turns(workspace: Workspace) -> Iterator[SpokenUnit]:
    for turn in read_rows(workspace.artifact("turns.parquet")):
        speaker = turn["speaker"] if turn["speaker"] != UNKNOWN else None
        yield SpokenUnit("turn", turn["turn_index"], Interval(turn["start"], turn["end"]), speaker, _words(turn))


def _rows(workspace: Workspace) -> Iterator[SpokenUnit]:
    for row in read_rows(workspace.artifact("rows.parquet")) if _has_rows(workspace) else ():
        interval = Interval(row["start_time"], row["end_time"])
        yield SpokenUnit("row", row["row_index"], interval, row["machine_speaker"], _words(row))


def _words(unit: Mapping[str, Json]) -> tuple[Interval, ...]:
    return tuple(Interval(word["start"], word["end"]) for word in unit["words"] or ())


def _participants(workspace: Workspace) -> Mapping[str, str]:
    """Diarization label to participant, as the join found it."""
    if not _has_rows(workspace):
        return {}
    found: Mapping[str, str] = read_json(workspace.artifact("join.json")).get("speakers", {}).get("participant", {})
    return found
