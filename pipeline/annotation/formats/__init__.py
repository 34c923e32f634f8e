"""Annotation files of other tools, both ways: one module a format, one interchange form, one registry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.annotation.formats.base import Context, Format, Imported, LeftOut, Source
from pipeline.annotation.formats.eaf import EafFormat
from pipeline.annotation.formats.labelstudio import LabelStudioFormat
from pipeline.annotation.formats.mapping import FormatMapping, load_mapping
from pipeline.annotation.formats.rescue_json import JsonFormat
from pipeline.annotation.formats.rttm import RttmFormat
from pipeline.annotation.formats.subtitles import SrtFormat, VttFormat
from pipeline.annotation.formats.table import CsvFormat, XlsxFormat
from pipeline.annotation.formats.textgrid import TextGridFormat
from pipeline.errors import InputError

__all__ = ["FORMATS", "Context", "Format", "FormatMapping", "Imported", "LeftOut", "Source", "detect", "load_mapping"]

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        JsonFormat(),
        EafFormat(),
        TextGridFormat(),
        SrtFormat(),
        VttFormat(),
        RttmFormat(),
        LabelStudioFormat(),
        CsvFormat(),
        XlsxFormat(),
    )
}
"""Every format by its name."""


def detect(source: Source) -> Format:
    """The format of a file, by its name; a JSON list is an export of Label Studio.

    Raises:
        InputError: If no format has that name.
    """
    suffix = source.path.suffix.casefold()
    if suffix == ".json":
        return FORMATS["labelstudio" if source.text.lstrip()[:1] == "[" else "json"]
    for each in FORMATS.values():
        if suffix in {known.casefold() for known in each.suffixes}:
            return each
    known = ", ".join(sorted({suffix for each in FORMATS.values() for suffix in each.suffixes}))
    msg = f"no annotation format has files named {suffix or Path(source.path).name!r}"
    raise InputError(msg, file=source.path, hint=f"known are {known}; export it from your tool as one of these")
