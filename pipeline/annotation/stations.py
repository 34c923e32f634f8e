"""The station of annotations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.annotation.findings import Finding, Severity, count_by_severity
from pipeline.annotation.io import Loaded, load_annotation, save_annotation
from pipeline.annotation.validate import validate
from pipeline.conversation import Conversation
from pipeline.errors import InputError, SkipStation
from pipeline.station import Record, State, Station, Workspace
from pipeline.store import Json, read_json, write_json
from pipeline.times import Seconds

__all__ = ["AnnotationsStation", "check_file", "known_duration"]


class AnnotationsStation(Station):
    """Read what people annotated, repair what is certain, and check it."""

    name = "annotations"
    version = 1
    uses = ("source",)
    outputs = ("annotations.json", "findings.json")
    summary_doc = "Reads the annotation rows, repairs spelling and shape, and checks them against the rules."

    def inputs(self, workspace: Workspace) -> Mapping[str, Path]:
        """The annotation file, and the facts about the recording."""
        annotations = workspace.source(workspace.conversation.annotations)
        known = {"source": workspace.artifact("source.json")}
        return {**known, "annotations": annotations} if annotations else known

    def parameters(self, workspace: Workspace) -> Mapping[str, Json]:
        """What `conversation.yaml` says of the people."""
        conversation = workspace.conversation
        return {
            "annotations": conversation.annotations,
            "scenario": conversation.scenario,
            "participants": list(conversation.participants),
        }

    def run(self, workspace: Workspace) -> Mapping[str, Json]:
        """Write ``annotations.json`` and ``findings.json``.

        Raises:
            SkipStation: If the conversation has no annotations.
            InputError: If they cannot be read, or a row cannot be used.
        """
        path = workspace.source(workspace.conversation.annotations)
        if path is None:
            msg = "no annotations yet"
            raise SkipStation(msg)
        loaded, findings = check_file(path, workspace.conversation, known_duration(workspace))
        counts = count_by_severity(findings)
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        if errors:
            raise _refusal(errors, path, workspace.conversation)
        save_annotation(workspace.artifact("annotations.json"), loaded.annotation)
        write_json(
            workspace.artifact("findings.json"),
            {
                "findings": [finding.to_json() for finding in findings],
                "changes": [change.to_json() for change in loaded.changes],
            },
        )
        return {"rows": len(loaded.annotation.rows), "findings": counts, "changes": len(loaded.changes)}


def check_file(path: Path, conversation: Conversation, duration: Seconds | None) -> tuple[Loaded, list[Finding]]:
    """Read an annotation file and check it: what the station does, and what ``rescue validate`` shows.

    Raises:
        InputError: If the file cannot be read as an annotation.
    """
    loaded = load_annotation(path, conversation)
    return loaded, validate(loaded.annotation, duration=duration)


def known_duration(workspace: Workspace) -> Seconds | None:
    """Length of the clip, where the recording was looked at."""
    if Record.read(workspace.record("source")).state is not State.DONE:
        return None
    return float(read_json(workspace.artifact("source.json"))["duration"])


def _refusal(errors: list[Finding], path: Path, conversation: Conversation) -> InputError:
    shown = "; ".join(
        f"{f'row {finding.row}, ' if finding.row else ''}{finding.field}: {finding.message}" for finding in errors[:3]
    )
    more = f" and {len(errors) - 3} more" if len(errors) > 3 else ""
    msg = f"{len(errors)} errors: {shown}{more}"
    return InputError(msg, file=path, hint=f"rescue validate {conversation.key}")
