"""Tables: CSV through pyarrow, XLSX through openpyxl. One row a line, one column a field, times in a declared unit."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
import zipfile
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from pipeline.annotation.formats.base import Context, Format, Imported, LeftOut, RawRow, Source, foreign
from pipeline.annotation.formats.cells import FIELDS, TIMES, cell_of, clean_xml, in_row, value_of
from pipeline.annotation.labels import fold
from pipeline.annotation.model import Annotation
from pipeline.extras import load
from pipeline.store import Json
from pipeline.times import TimeUnit, round_time, to_seconds

__all__ = ["CsvFormat", "XlsxFormat"]

_ALIASES = {
    "start": "start_time",
    "end": "end_time",
    "speaker": "primary_speaker",
    "text": "dialogue_cleaned",
    "dialogue": "dialogue_cleaned",
}
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_ESCAPED = re.compile(r"'+[=+\-@\t\r]")
_MAX_COLUMNS = 512
_MAX_ROWS = 100_000
_MAX_UNPACKED = 256 * 2**20


class _Table(Format):
    """Lines as rows."""

    def read(self, source: Source, context: Context) -> Imported:
        """The rows of a table whose first line names the columns.

        Raises:
            InputError: If columns are missing or stand twice, the unit of time is not declared, or a time is not of it.
        """
        lines = self._lines(source, context)
        header = next(lines, (0, ()))[1]
        columns = _columns([cell or "" for cell in header], source, context)
        imported = Imported()
        unit = _unit(columns, source, context)
        unknown: Counter[str] = Counter()
        for number, cells in lines:
            if not any(cells):
                continue
            values: dict[str, Json] = {}
            for (column, field), cell in zip(columns, cells, strict=False):
                if cell is None:
                    continue
                if field is None:
                    unknown[column] += 1
                    continue
                self._value(values, field, cell, unit, f"line {number}, column {column}", source, context, imported)
            missing = [field for field in TIMES if field not in values]
            if missing:
                raise source.error(f"{missing[0]} is empty", place=f"line {number}", hint="fill it in")
            imported.rows.append(RawRow(f"line {number}", in_row({"dialogue_cleaned": "", **values})))
        for column, count in unknown.items():
            ignored = context.mapping.ignores(column)
            reason = "ignored by the mapping" if ignored else "no field is named for this column"
            imported.left_out.append(LeftOut(f"column {column}", reason, count=count))
        return imported

    def _value(
        self,
        values: dict[str, Json],
        field: str,
        cell: str,
        unit: TimeUnit,
        place: str,
        source: Source,
        context: Context,
        imported: Imported,
    ) -> None:
        if field in TIMES:
            try:
                values[field] = to_seconds(cell, unit)
            except ValueError as error:
                hint = "say `unit: clock` in a mapping file" if ":" in cell else "correct it, or `unit:` in the mapping"
                raise source.error(str(error), place=place, hint=hint) from error
            return
        if _ESCAPED.match(cell):
            cell = cell[1:]
        if field == "primary_speaker":
            values[field] = context.speaker(cell)
            return
        if field == "row_index":
            if not (cell.isascii() and cell.isdigit() and len(cell) < 9):
                raise source.error(f"{cell[:40]!r} is no row number", place=place, hint="number rows 1, 2, 3, ...")
            values[field] = int(cell)
            return
        try:
            values[field] = value_of(field, cell, separator=context.mapping.separator)
        except ValueError as error:
            imported.left_out.append(LeftOut(place, str(error), cell))

    def write(self, annotation: Annotation, *, media: str | None = None) -> bytes:
        """A table of every field; times in seconds. Text that a spreadsheet would run as a formula is escaped."""
        del media
        return self._table(
            [FIELDS]
            + [[_cell(field, value) for field, value in row.model_dump(mode="json").items()] for row in annotation.rows]
        )

    @abstractmethod
    def _lines(self, source: Source, context: Context) -> Iterator[tuple[int, Sequence[str | None]]]:
        """Lines with their number, the header first; a cell without content is None."""

    @abstractmethod
    def _table(self, lines: Iterable[Sequence[str | float | None]]) -> bytes:
        """The bytes of a table."""


class CsvFormat(_Table):
    """Comma, semicolon or tab separated values. Words such as NA and null are text like any other."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv")

    def _lines(self, source: Source, context: Context) -> Iterator[tuple[int, Sequence[str | None]]]:
        import pyarrow as pa  # noqa: PLC0415 - slow to load
        from pyarrow import csv as arrow_csv  # noqa: PLC0415

        del context
        text = source.text
        first = text[: text.find("\n")] if "\n" in text else text
        delimiter = max(",;\t", key=first.count)
        names = [f"f{position}" for position in range(_MAX_COLUMNS)]
        try:
            table = arrow_csv.read_csv(
                io.BytesIO(text.encode("utf-8", "replace")),
                # Only a reader of one thread knows the number of a line; one block, since lines may be long.
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, autogenerate_column_names=True, block_size=len(source.data) + 1024
                ),
                parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except (pa.ArrowException, ValueError) as error:
            msg = f"the file is not a table: {str(error).split(':')[1 if ':' in str(error) else 0].strip()[:80]}"
            place = _row_number(str(error))
            hint = "every line needs as many cells as the first; a cell with the separator or a quote needs quotes"
            raise source.error(msg, place=place, hint=hint) from error
        if table.num_columns > _MAX_COLUMNS:
            msg = f"the table has {table.num_columns} columns, at most {_MAX_COLUMNS} are read"
            raise source.error(msg, hint="keep the columns of rows")
        columns = [column.to_pylist() for column in table.columns]
        yield from enumerate(zip(*columns, strict=True), start=1)

    def _table(self, lines: Iterable[Sequence[str | float | None]]) -> bytes:
        written = io.StringIO(newline="")
        # The writer of pyarrow quotes every text; this one is what people diff and open.
        csv.writer(written, lineterminator="\n").writerows(lines)
        return written.getvalue().encode("utf-8", "replace")


class XlsxFormat(_Table):
    """The first sheet of a workbook, or the one the mapping names; the values of formulas as last computed."""

    name: ClassVar[str] = "xlsx"
    title: ClassVar[str] = "Excel workbook"
    suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)

    def _lines(self, source: Source, context: Context) -> Iterator[tuple[int, Sequence[str | None]]]:
        openpyxl = load("openpyxl", "formats")

        _check_package(source)
        with foreign(source, "a workbook"):
            book = openpyxl.load_workbook(io.BytesIO(source.data), read_only=True, data_only=True)
            names = book.sheetnames
            wanted = context.mapping.sheet or names[0]
            if wanted not in names:
                msg = f"the workbook has no sheet {wanted!r}; it has {', '.join(names)}"
                raise source.error(msg, hint="correct `sheet:` in the mapping file")
            sheet = book[wanted]
            # A sheet says how large it is, and may lie: a single cell far down would make millions of empty ones.
            header = next(sheet.iter_rows(max_row=1, max_col=_MAX_COLUMNS, values_only=True), ())
            width = max((position for position, cell in enumerate(header, start=1) if cell is not None), default=0)
            yield 1, [_text(cell, "line 1", source) for cell in header[:width]]
            if width == 0:
                return
            rows = sheet.iter_rows(min_row=2, max_row=_MAX_ROWS + 1, max_col=width, values_only=True)
            for number, row in enumerate(rows, start=2):
                yield number, [_text(cell, f"line {number}", source) for cell in row]

    def _table(self, lines: Iterable[Sequence[str | float | None]]) -> bytes:
        openpyxl = load("openpyxl", "formats")

        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("rows")
        for line in lines:
            cells = []
            for value in line:
                cell = openpyxl.cell.WriteOnlyCell(sheet, clean_xml(value) if isinstance(value, str) else value)
                if isinstance(value, str):
                    cell.data_type = "s"  # never a formula, never a number
                cells.append(cell)
            sheet.append(cells)
        fixed = dt.datetime(1980, 1, 1)  # noqa: DTZ001 - a workbook has no time zone
        book.properties.created = book.properties.modified = fixed
        written = io.BytesIO()
        # not `book.save`, which puts the time of writing into the workbook
        load("openpyxl.writer.excel", "formats").ExcelWriter(book, zipfile.ZipFile(written, "w")).save()
        return _repack(written.getvalue())


def _columns(header: Sequence[str], source: Source, context: Context) -> list[tuple[str, str | None]]:
    """Each column with the field it holds; None where no field is named."""
    columns: list[tuple[str, str | None]] = []
    for name in (cell.strip() for cell in header):
        plain = fold(name)
        own = plain if plain in FIELDS else _ALIASES.get(plain)
        field = None if context.mapping.ignores(name) else context.mapping.field_of(name) or own
        if field is not None and field in context.mapping.fields and context.mapping.field_of(name) != field:
            field = None  # the mapping names another column for it
        columns.append((name, field))
    twice = [field for field, count in Counter(field for _, field in columns if field).items() if count > 1]
    if twice:
        named = ", ".join(name for name, field in columns if field == twice[0])
        msg = f"several columns hold {twice[0]}: {named}"
        raise source.error(msg, place="line 1", hint="name one of them in a mapping file, `fields:`, or `ignore:` one")
    missing = [field for field in TIMES if field not in {field for _, field in columns}]
    if missing:
        listed = ", ".join(name for name, _ in columns[:20]) or "none"
        msg = f"no column holds {' or '.join(missing)}; the columns are {listed}"
        hint = "say which in a mapping file, `fields: {start_time: COLUMN}` (docs/how-to/annotation-tools.md)"
        raise source.error(msg, place="line 1", hint=hint)
    return columns


def _unit(columns: Sequence[tuple[str, str | None]], source: Source, context: Context) -> TimeUnit:
    """The unit of time: as declared; columns named exactly as our fields are seconds, for so we write them."""
    if context.mapping.unit is not None:
        return context.mapping.unit
    if all(name == field for name, field in columns if field in TIMES):
        return TimeUnit.SECONDS
    names = " and ".join(name for name, field in columns if field in TIMES)
    msg = f"the unit of the columns {names} is not declared"
    hint = "say `unit: seconds`, `milliseconds` or `clock` in a mapping file, or call them start_time and end_time"
    raise source.error(msg, place="line 1", hint=hint)


def _cell(field: str, value: Json) -> str | float | None:
    if field in TIMES:
        return round_time(value)
    if field == "row_index":
        return int(value)
    cell = cell_of(field, value)
    return f"'{cell}" if cell is not None and _FORMULA.match(cell) else cell


def _text(cell: object, place: str, source: Source) -> str | None:
    if cell is None:
        return None
    if isinstance(cell, dt.time | dt.datetime | dt.timedelta):
        msg = f"a cell is an Excel time ({cell}), which may mean hours or minutes"
        raise source.error(msg, place=place, hint="format the column as text, or write seconds")
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell) or None


def _row_number(message: str) -> str | None:
    match = re.search(r"Row #(\d+)", message)
    return f"line {match[1]}" if match else None


def _check_package(source: Source) -> None:
    """Refuse a workbook that unpacks to far more than it is, or whose parts declare entities."""
    with foreign(source, "a workbook"), zipfile.ZipFile(io.BytesIO(source.data)) as package:
        members = package.infolist()
        total = sum(member.file_size for member in members)
        if total > _MAX_UNPACKED or len(members) > 10_000:
            msg = f"the workbook unpacks to {total // 2**20} MB, at most {_MAX_UNPACKED // 2**20} are read"
            raise source.error(msg, hint="save the one sheet with rows as a new workbook, or as CSV")
        for member in members:
            if member.filename.lower().endswith((".xml", ".rels", ".vml")):
                with package.open(member) as part:
                    head = part.read(65_536).replace(b"\0", b"")
                if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
                    msg = f"the part {member.filename} declares a document type, which no workbook does"
                    raise source.error(msg, hint="save it again in your spreadsheet program")


def _repack(data: bytes) -> bytes:
    """The same package with fixed times in its directory, so that equal tables are equal bytes."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as package, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as fixed:
        for member in package.infolist():
            fixed.writestr(zipfile.ZipInfo(member.filename), package.read(member), zipfile.ZIP_DEFLATED)
    return written.getvalue()
