"""The station of annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.annotation.agreement import values_of
from pipeline.annotation.coverage import check_coverage
from pipeline.annotation.findings import Finding, Severity, count_by_severity
from pipeline.annotation.formats.mapping import mapping_beside
from pipeline.annotation.formats.transfer import take
from pipeline.annotation.io import Loaded, save_annotation
from pipeline.annotation.model import Status
from pipeline.annotation.validate import validate
from pipeline.annotation.versions import FOLDER, Version, read_versions, unite, version_files
from pipeline.conversation import Conversation
from pipeline.errors import InputError, SkipStation
from pipeline.station import Record, State, Station, Workspace
from pipeline.store import Json, read_json, write_json
from pipeline.subtitles import subtitle_candidates, subtitle_cues
from pipeline.times import Seconds

__all__ = ["AnnotationsStation", "check_file", "known_duration", "refusal"]


class AnnotationsStation(Station):
    """Read what people annotated, repair what is certain, and check it."""

    name = "annotations"
    version = 3
    uses = ("source",)
    outputs = ("annotations.json", "findings.json", "agreement.json")
    summary_doc = "Reads the annotation rows, repairs spelling and shape, and checks them against the rules."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The annotation file with its mapping file, those of single annotators, and the facts about the recording."""
        annotations = workspace.source(workspace.conversation.annotations)
        known = {"source": workspace.artifact("source.json")}
        if annotations is None:
            return known
        mapping = mapping_beside(annotations)
        files = version_files(workspace.raw)
        single = {f"{FOLDER}/{path.name}": path for path in (*files, *map(mapping_beside, files)) if path.is_file()}
        subtitles = subtitle_candidates(workspace.conversation, workspace.raw)
        beside = (path for path in (*subtitles, *map(mapping_beside, subtitles)) if path.is_file())
        return {
            **known,
            **single,
            **{f"subtitles/{path.name}": path for path in beside},
            "annotations": annotations,
            **({"mapping": mapping} if mapping.is_file() else {}),
        }

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """What `conversation.yaml` says of the people."""
        conversation = workspace.conversation
        return {
            "annotations": conversation.annotations,
            "scenario": conversation.scenario,
            "participants": list(conversation.participants),
        }

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``annotations.json``, ``findings.json`` and ``agreement.json``.

        Raises:
            SkipStation: If the conversation has no annotations.
            InputError: If they cannot be read, or a row cannot be used.
        """
        path = workspace.source(workspace.conversation.annotations)
        if path is None:
            msg = "no annotations yet"
            raise SkipStation(msg)
        loaded, findings = check_file(path, workspace.conversation, known_duration(workspace), workspace.raw)
        counts = count_by_severity(findings)
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        if errors:
            raise refusal(errors, path, workspace.conversation)
        save_annotation(workspace.artifact("annotations.json"), loaded.annotation)
        write_json(
            workspace.artifact("findings.json"),
            {
                "findings": [finding.to_json() for finding in findings],
                "changes": [change.to_json() for change in loaded.changes],
            },
        )
        versions = [(version.origin.author, version.annotation) for version in _versions(workspace)]
        values = values_of(unite(versions))
        write_json(
            workspace.artifact("agreement.json"),
            {"authors": [author for author, _ in versions], "values": values if len(versions) > 1 else {}},
        )
        return {"rows": len(loaded.annotation.rows), "findings": counts, "changes": len(loaded.changes)}


def _versions(workspace: Workspace) -> list[Version]:
    return [
        version
        for version in read_versions(workspace.raw, workspace.conversation)
        if version.origin.status is not Status.DRAFT
    ]


def check_file(
    path: Path, conversation: Conversation, duration: Seconds | None, raw: Path | None = None
) -> tuple[Loaded, list[Finding]]:
    """Read an annotation file and check it: what the station does, and what ``rescue validate`` shows.

    Args:
        path: The file.
        conversation: What is said of the recording.
        duration: Length of the clip in seconds; None if it is not known.
        raw: The conversation's folder, whose subtitles the rows are compared with; None if there is none.

    Raises:
        InputError: If the file cannot be read as an annotation, or the subtitles not as subtitles.
    """
    taken = take(path, conversation)
    annotation = taken.loaded.annotation
    cues = subtitle_cues(conversation, raw) if raw else []
    findings = [*taken.findings(), *validate(annotation, duration=duration), *check_coverage(annotation, cues)]
    return taken.loaded, findings


def known_duration(workspace: Workspace) -> Seconds | None:
    """Length of the clip, where the recording was looked at."""
    if Record.read(workspace.record("source")).state is not State.DONE:
        return None
    return float(read_json(workspace.artifact("source.json"))["duration"])


def refusal(
    errors: Sequence[Finding], path: Path, conversation: Conversation, *, hint: str | None = None
) -> InputError:
    """The error of an annotation whose rows cannot be used."""
    shown = "; ".join(
        f"{f'row {finding.row}, ' if finding.row else ''}{finding.field}: {finding.message}" for finding in errors[:3]
    )
    more = f" and {len(errors) - 3} more" if len(errors) > 3 else ""
    msg = f"{len(errors)} errors: {shown}{more}"
    return InputError(msg, file=path, hint=hint or f"rescue validate {conversation.key}")
