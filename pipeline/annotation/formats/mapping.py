"""The mapping file: which tier or column of a file is which field. docs/how-to/annotation-tools.md shows it in use."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from pipeline.annotation.formats.cells import FIELDS
from pipeline.conversation import closest
from pipeline.errors import InputError
from pipeline.times import TimeUnit

__all__ = ["MAPPING_SUFFIX", "FormatMapping", "is_mapping", "load_mapping", "mapping_beside"]

MAPPING_SUFFIX = ".mapping.yaml"
"""The mapping of ``session.eaf`` is ``session.eaf.mapping.yaml`` beside it."""

_MAX_BYTES = 256 * 1024


class FormatMapping(BaseModel):
    """What a user says of a file. All of it is optional; a file that this tool exported needs none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Field of a row to the tiers, columns or controls that hold it; ``*`` and ``?`` stand for any letters."""
    ignore: tuple[str, ...] = ()
    """Tiers, columns or controls that are left out on purpose."""
    speakers: dict[str, str] = Field(default_factory=dict)
    """Name in the file to name here."""
    speaker: str | None = None
    """Who speaks where the file does not say it."""
    unit: TimeUnit | None = None
    """Unit of the times of a table."""
    separator: str = Field(default=";", min_length=1)
    """Between the names of one cell."""
    encoding: str | None = None
    sheet: str | None = None
    """Sheet of a workbook. Default: the first."""
    recording: str | None = None
    """Which recording or task of a file that holds several."""
    annotator: str | None = None
    """Whose work is taken, of a file that holds several people's."""

    @field_validator("fields", mode="before")
    @classmethod
    def _lists(cls, value: object) -> object:
        if isinstance(value, dict):
            for name in value:
                if name not in FIELDS:
                    near = closest(str(name), FIELDS)
                    msg = f"{name!r} is no field of a row; {f'did you mean {near!r}' if near else f'fields: {FIELDS}'}"
                    raise ValueError(msg)
            return {name: (part,) if isinstance(part, str) else part for name, part in value.items()}
        return value

    @field_validator("recording", "annotator", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) else value

    def field_of(self, name: str) -> str | None:
        """The field that a tier, column or control holds, or None if the mapping does not say."""
        for field, patterns in self.fields.items():
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                return field
        return None

    def ignores(self, name: str) -> bool:
        """Whether it is left out on purpose."""
        return any(fnmatchcase(name, pattern) for pattern in self.ignore)


def load_mapping(path: Path) -> FormatMapping:
    """Read a mapping file.

    Raises:
        InputError: If it is missing, no YAML, or has an unknown field; the message names the field.
    """
    try:
        data = path.read_bytes()
        if len(data) > _MAX_BYTES:
            msg = "the mapping file is too large"
            raise InputError(msg, file=path, hint="is it the annotation file?")
        value = yaml.safe_load(data.decode("utf-8-sig"))
        return FormatMapping.model_validate(value or {})
    except FileNotFoundError as error:
        msg = "there is no such mapping file"
        raise InputError(msg, file=path, hint="docs/how-to/annotation-tools.md shows one") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or None
            hint = None
            if first["type"] == "extra_forbidden":
                hint = f"fields are: {', '.join(FormatMapping.model_fields)}"
            raise InputError(first["msg"], file=path, place=place, hint=hint) from error
        msg = f"the mapping file is not YAML: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        raise InputError(msg, file=path) from error


def mapping_beside(path: Path) -> Path:
    """Where the mapping of an annotation file lies, whether it is there or not."""
    return path.with_name(path.name + MAPPING_SUFFIX)


def is_mapping(path: Path) -> bool:
    """Whether a file is a mapping file, by its name."""
    return path.name.endswith(MAPPING_SUFFIX)
