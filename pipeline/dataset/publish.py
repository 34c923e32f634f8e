"""Publication: the built data set as a folder that others can load, under a stated policy.

A publication holds tables, card, Croissant description, statistics, licence, checksums and the list of changes since
the version before. It never holds a path of the machine, and no recording.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa

from pipeline import __version__
from pipeline.build import find_workspaces
from pipeline.dataset.build import TABLES, check_whole
from pipeline.dataset.card import TableFiles, data_card
from pipeline.dataset.changes import Changes, compare, describe
from pipeline.dataset.figures import write_figures
from pipeline.dataset.policy import Policy, project, published_schema
from pipeline.dataset.pseudonyms import Pseudonyms, load_key, names_in
from pipeline.dataset.statistics import statistics_rows
from pipeline.errors import InputError, PrerequisiteError, UsageError
from pipeline.extras import load
from pipeline.schemas import SCHEMA_VERSION, STATISTICS, read_rows, read_table, table_of, write_table
from pipeline.settings import PublicationSettings, Settings
from pipeline.store import Json, digest_file, digest_json, read_json, write_json, write_text

__all__ = ["Publication", "breaking_changes", "publish", "publish_configured"]

MANIFEST = "SHA256SUMS"
_VERSION = "version.json"

_TERMS = """# Terms

This data set is for research only. Ask its owner for access, do not pass it on, and do not try to find out who the
people are. Replace this text with the terms your ethics board approved before you give access.
"""


@dataclass(frozen=True)
class Publication:
    """What `publish` did."""

    version: str
    changed: bool
    """False if the target holds the same data already; nothing was written then."""
    files: tuple[str, ...]
    changes: Changes = field(default_factory=Changes)


def publish(
    settings: Settings,
    target: str,
    *,
    policy: Policy = Policy.ANNOTATIONS_ONLY,
    pseudonymise: bool = True,
    name: str = "Annotated conversations",
    licence: str = "research-only",
    terms: Path | None = None,
) -> Publication:
    """Publish the built data set to a folder or an fsspec address.

    Files of an earlier publication at the target are replaced, and removed where they are no longer part of it; nothing
    else there is touched. The same data, policy and terms as before write nothing.

    Args:
        settings: Where the built data set is.
        target: A folder, or an address that fsspec understands, for example ``s3://bucket/set``.
        policy: How much of the text to show; the least by default.
        pseudonymise: Replace names and ids, in text too.
        name: Title on the card.
        licence: Short name of the terms.
        terms: A text file with the terms; a placeholder is written if there is none.

    Raises:
        InputError: If the data set is not built, or the target holds files that are not a publication.
        PrerequisiteError: If the target's file system needs a package that is missing.
    """
    system, root = _open(target)
    with tempfile.TemporaryDirectory() as temporary:
        staged, before = Path(temporary) / "new", Path(temporary) / "old"
        old_files = _fetch(system, root, before)
        tables = _stage_tables(settings, staged, policy, pseudonymise=pseudonymise)
        licence_text = _read_terms(terms) if terms else _TERMS
        write_text(staged / "LICENSE.md", licence_text)
        statistics = _statistics(settings)
        content = {
            "tables": {path: digest_file(staged / path) for path in _listed(staged)},
            "policy": policy.value,
            "pseudonymised": pseudonymise,
            "name": name,
            "licence": licence,
        }
        digest = digest_json(content)
        previous = read_json(before / _VERSION) if (before / _VERSION).exists() else None
        whole = _is_whole(before)
        if previous and previous["digest"] == digest and whole:
            return Publication(previous["version"], changed=False, files=tuple(sorted(old_files)))
        version = str(int(previous["version"]) + 1) if previous else "1"
        # Under another policy earlier versions may have shown what this one must not: their history goes.
        shown = {name: content[name] for name in ("policy", "pseudonymised")}
        comparable = (
            whole and previous is not None and all(previous.get(name) == value for name, value in shown.items())
        )
        changes = compare(before, staged) if comparable else Changes()
        history = _history(before) if comparable else ""
        _stage_texts(staged, tables, statistics, content, history=history, changes=changes, version=version)
        write_json(
            staged / _VERSION,
            {"version": version, "digest": digest, "schema_version": SCHEMA_VERSION, "tool": __version__, **shown},
        )
        _write_manifest(staged)
        files = _send(system, root, staged, old_files)
    return Publication(version, changed=True, files=files, changes=changes)


def publish_configured(settings: Settings, chosen: PublicationSettings) -> Publication:
    """`publish` as the settings say.

    Args:
        settings: Where the built data set is.
        chosen: Target, policy and texts; those of the settings, or changed.

    Raises:
        UsageError: If no target is set.
        InputError: As `publish`.
        PrerequisiteError: As `publish`.
    """
    if chosen.to is None:
        msg = "nothing says where to publish"
        raise UsageError(msg, hint="name a folder with --to, or as `publication: {to: ...}` in rescue.yaml")
    return publish(
        settings,
        chosen.to,
        policy=chosen.policy,
        pseudonymise=not chosen.keep_names,
        name=chosen.name,
        licence=chosen.licence,
        terms=chosen.terms,
    )


def breaking_changes(chosen: PublicationSettings) -> list[str] | None:
    """What programs that read the last published version would trip over in the next one.

    A column that goes or changes its type breaks them; a new one does not.

    Args:
        chosen: Target and policy.

    Returns:
        One line a change; None if nothing is published there yet.

    Raises:
        InputError: If the target holds files that are not a publication.
        PrerequisiteError: If the target cannot be reached.
    """
    if chosen.to is None:
        return None
    system, root = _open(chosen.to)
    with tempfile.TemporaryDirectory() as temporary:
        before = Path(temporary) / "old"
        if not _fetch(system, root, before):
            return None
        lines = []
        for table, full in TABLES.items():
            now = published_schema(table, full, chosen.policy)
            for file in sorted((before / table).glob("*.parquet")):
                lines += [f"{table}: {change}" for change in _broken(read_table(file).schema, now)]
                break  # all splits of a table are alike
    return lines


def _broken(before: pa.Schema, now: pa.Schema) -> list[str]:
    types = {field.name: field.type for field in now}
    return [
        f"column {field.name} is gone"
        if field.name not in types
        else f"column {field.name} was {field.type}, is {types[field.name]}"
        for field in before
        if types.get(field.name) != field.type
    ]


def _open(target: str) -> tuple[Any, str]:
    try:
        system, root = fsspec.core.url_to_fs(target)
    except (ImportError, ValueError) as error:
        msg = f"the target cannot be reached: {error}"
        raise PrerequisiteError(msg, hint="name a folder, or install the fsspec package of that storage") from error
    return system, root


def _read_terms(terms: Path) -> str:
    try:
        return terms.read_text("utf-8")
    except UnicodeDecodeError as error:
        msg = "the terms are no UTF-8 text"
        raise InputError(msg, file=terms, hint="save them as plain text in UTF-8") from error


def _listed(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _stage_tables(settings: Settings, staged: Path, policy: Policy, *, pseudonymise: bool) -> list[TableFiles]:
    source = settings.benchmark_dir
    check_whole(source)
    _check_nobody_left(settings)
    replace = _pseudonyms(settings) if pseudonymise else None
    tables = []
    for table, full in TABLES.items():
        schema = published_schema(table, full, policy)
        counts: dict[str, int] = {}
        for file in sorted((source / table).glob("*.parquet")):
            rows: list[Mapping[str, Any]] = list(read_rows(file))
            if not rows:  # `datasets` cannot load a split without rows
                continue
            if replace:
                rows = [replace.row(row) for row in rows]
            projected = project(rows, schema)
            write_table(staged / table / file.name, projected, schema)
            counts[file.stem] = projected.num_rows
        if counts:
            tables.append(TableFiles(table, schema, counts))
    return tables


def _check_nobody_left(settings: Settings) -> None:
    """Refuse to publish somebody whose recording was taken away since the set was built."""
    present = {workspace.conversation.id for workspace in find_workspaces(settings).workspaces}
    built = {
        row["conversation_id"]
        for file in sorted((settings.benchmark_dir / "conversations").glob("*.parquet"))
        for row in read_rows(file)
    }
    gone = sorted(built - present)
    if gone:
        msg = f"the built data set holds {len(gone)} conversations that are no longer there, for example {gone[0]!r}"
        raise InputError(msg, hint="run `rescue dataset`, then publish")


def _pseudonyms(settings: Settings) -> Pseudonyms:
    names: dict[str, list[str]] = {}
    groups: dict[str, str] = {}
    # Participants first, so that their numbers do not change with what is said of others.
    for table in ("conversations", "rows"):
        for file in sorted((settings.benchmark_dir / table).glob("*.parquet")):
            for row in read_rows(file):
                groups[row["conversation_id"]] = row["group_id"]
                names.setdefault(row["group_id"], []).extend(names_in(row))
    return Pseudonyms(load_key(settings.data / "pseudonym.key"), names, groups)


def _stage_texts(
    staged: Path,
    tables: list[TableFiles],
    statistics: Json,
    content: Mapping[str, Json],
    *,
    history: str,
    changes: Changes,
    version: str,
) -> None:
    # Only this command needs it, and it takes seconds to load.
    load("mlcroissant", "publish")
    from pipeline.dataset.croissant import croissant  # noqa: PLC0415

    card = data_card(
        tables,
        name=content["name"],
        version=version,
        policy=Policy(content["policy"]),
        pseudonymised=content["pseudonymised"],
        licence=content["licence"],
        statistics=statistics,
    )
    write_text(staged / "README.md", card)
    write_json(staged / "statistics.json", statistics)
    write_table(staged / "statistics.parquet", table_of(statistics_rows(statistics), STATISTICS), STATISTICS)
    if find_spec("matplotlib"):
        write_figures(statistics, staged / "figures")
    write_json(staged / "croissant.json", croissant(tables, content["tables"], name=content["name"], version=version))
    write_text(staged / "CHANGES.md", describe(changes, version) + history)


def _history(before: Path) -> str:
    """The sections of earlier versions."""
    earlier = before / "CHANGES.md"
    sections = earlier.read_text("utf-8").partition("\n## ")[2] if earlier.exists() else ""
    return f"\n## {sections}" if sections else ""


def _write_manifest(staged: Path) -> None:
    sums = "".join(f"{digest_file(staged / path)}  {path}\n" for path in _listed(staged))
    write_text(staged / MANIFEST, sums)


def _statistics(settings: Settings) -> dict[str, Json]:
    """What is counted, without the names of conversations."""
    found = read_json(settings.benchmark_dir / "statistics.json")
    return {name: value for name, value in found.items() if name != "missing_conversations"}


def _fetch(system: Any, root: str, before: Path) -> set[str]:
    """Bring the texts and tables of the publication at the target, and list its files."""
    before.mkdir()
    listed = _manifest(system.cat_file(f"{root}/{MANIFEST}")) if system.exists(f"{root}/{MANIFEST}") else {}
    if _VERSION not in listed:  # checksums of other things are no publication
        if system.exists(root) and system.ls(root):
            msg = "the target holds files, but no publication"
            raise InputError(msg, hint="name an empty or new folder")
        return set()
    system.get_file(f"{root}/{MANIFEST}", str(before / MANIFEST))
    # The list comes from the target: a name that leads outside it is not followed.
    inside = {path for path in listed if path and ".." not in PurePosixPath(path).parts and not path.startswith("/")}
    for path in inside:
        if system.exists(f"{root}/{path}"):
            (before / path).parent.mkdir(parents=True, exist_ok=True)
            system.get_file(f"{root}/{path}", str(before / path))
    return inside


def _manifest(content: bytes) -> dict[str, str]:
    """File to SHA-256."""
    lines = content.decode("utf-8", errors="replace").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines) if name}


def _is_whole(before: Path) -> bool:
    """Whether the publication at the target is as its manifest says: an interrupted one is not."""
    manifest = before / MANIFEST
    if not manifest.exists():
        return False
    listed = _manifest(manifest.read_bytes())
    return all((before / name).is_file() and digest_file(before / name) == digest for name, digest in listed.items())


def _send(system: Any, root: str, staged: Path, old_files: set[str]) -> tuple[str, ...]:
    files = _listed(staged)
    # While files change hands the manifest lists those of both versions. If this is cut short, the next call sees that
    # they are not whole, writes them all again, and knows what to remove.
    system.makedirs(root, exist_ok=True)
    unfinished = "".join(f"{'0' * 64}  {path}\n" for path in sorted({*files, *old_files} - {MANIFEST}))
    system.pipe_file(f"{root}/{MANIFEST}", unfinished.encode())
    for path in files:
        if path != MANIFEST:
            system.makedirs(f"{root}/{path}".rpartition("/")[0], exist_ok=True)
            system.put_file(str(staged / path), f"{root}/{path}")
    for path in sorted(old_files - set(files) - {MANIFEST}):
        if system.exists(f"{root}/{path}"):
            system.rm_file(f"{root}/{path}")
    system.put_file(str(staged / MANIFEST), f"{root}/{MANIFEST}")
    return tuple(files)
