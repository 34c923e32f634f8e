"""The label sets, read from ``annotation_schema/labels``: one set a scenario, in the order of candidates everywhere."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from pipeline.conversation import Scenario

__all__ = ["Label", "LabelSet", "fold", "label_set"]


class Label(BaseModel):
    """One label with what an annotator needs to choose it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str
    definition: str
    boundary: str
    """What decides in doubt."""
    anchor: str
    """Where the idea comes from."""


class LabelSet(BaseModel):
    """The closed label sets of a scenario."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scenario: Scenario
    relation_patterns: tuple[Label, ...]
    support_strategies: tuple[Label, ...]
    utterance_types: tuple[Label, ...]


@cache
def label_set(scenario: Scenario) -> LabelSet:
    """The label sets of a scenario."""
    return LabelSet.model_validate({**_read(scenario.value), **_read("utterance_types")})


def fold(label: str) -> str:
    r"""A label without what spelling varies: blanks of any kind, case, hyphens for underscores.

    Candidates, gold and answers of models pass through this one function, so none can differ by spelling alone.

    Example:
        >>> fold(" Repair-Softening\u00a0")
        'repair_softening'
    """
    plain = unicodedata.normalize("NFKC", label).strip().casefold()
    return re.sub(r"[\s\-_]+", "_", plain)


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((files("annotation_schema") / "labels" / f"{name}.yaml").read_text("utf-8"))
    return found
