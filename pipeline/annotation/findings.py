"""What validation says: every finding, with its place and a suggestion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

from pipeline.store import Json

__all__ = ["Change", "Finding", "Severity", "count_by_severity"]


class Severity(StrEnum):
    """What a finding means for the row."""

    ERROR = "error"
    """The row cannot be used; the conversation is not built until it is corrected."""
    WARNING = "warning"
    """Against the guidelines, but usable."""
    INFO = "info"
    """Worth a look."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or odd."""

    severity: Severity
    rule: str
    """Name of the rule, stable, for filtering."""
    conversation_id: str
    row: int | None
    """Row index; None for the conversation as a whole."""
    field: str | None
    message: str
    suggestion: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return {**asdict(self), "severity": self.severity.value}


@dataclass(frozen=True)
class Change:
    """One repair that normalisation made, so that nothing changes unseen."""

    conversation_id: str
    row: int | None
    field: str
    before: Json
    after: Json
    reason: str

    def to_json(self) -> dict[str, Json]:
        """The JSON form."""
        return asdict(self)


def count_by_severity(findings: Iterable[Finding]) -> dict[str, int]:
    """How many errors, warnings and infos; all three keys are always there."""
    counts = Counter(finding.severity for finding in findings)
    return {severity.value: counts[severity] for severity in Severity}
