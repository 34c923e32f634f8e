"""Publication: the built data set as a folder that others can load, under a stated policy.

A publication holds tables, card, Croissant description, statistics, licence, checksums and the list of changes since
the version before. It never holds a path of the machine, and no recording.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import __version__
from pipeline.dataset.card import TableFiles, data_card
from pipeline.dataset.changes import Changes, compare, describe
from pipeline.dataset.policy import Policy, project, published_schema
from pipeline.dataset.pseudonyms import Pseudonyms, load_key
from pipeline.errors import InputError, PrerequisiteError
from pipeline.schemas import CONVERSATIONS, ROWS, SCHEMA_VERSION, TASKS, TURNS, read_rows, write_table
from pipeline.settings import Settings
from pipeline.store import Json, digest_file, digest_json, read_json, write_json, write_text

__all__ = ["Publication", "publish"]

TABLES: Mapping[str, pa.Schema] = {"conversations": CONVERSATIONS, "turns": TURNS, "rows": ROWS, **TASKS}
MANIFEST = "SHA256SUMS"

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
    try:
        system, root = fsspec.core.url_to_fs(target)
    except (ImportError, ValueError) as error:
        msg = f"the target cannot be reached: {error}"
        raise PrerequisiteError(msg, hint="name a folder, or install the fsspec package of that storage") from error
    with tempfile.TemporaryDirectory() as temporary:
        staged, before = Path(temporary) / "new", Path(temporary) / "old"
        old_files = _fetch(system, root, before)
        tables = _stage_tables(settings, staged, policy, pseudonymise=pseudonymise)
        licence_text = terms.read_text("utf-8") if terms else _TERMS
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
        previous = read_json(before / "version.json") if (before / "version.json").exists() else None
        if previous and previous["digest"] == digest:
            return Publication(previous["version"], changed=False, files=tuple(sorted(old_files)))
        version = str(int(previous["version"]) + 1) if previous else "1"
        # Under another policy earlier versions may have shown what this one must not: their history goes.
        shown = {name: content[name] for name in ("policy", "pseudonymised")}
        comparable = previous is not None and all(previous.get(name) == value for name, value in shown.items())
        changes = compare(before, staged) if comparable else Changes()
        history = _history(before) if comparable else ""
        _stage_texts(staged, tables, statistics, content, history=history, changes=changes, version=version)
        write_json(
            staged / "version.json",
            {"version": version, "digest": digest, "schema_version": SCHEMA_VERSION, "tool": __version__, **shown},
        )
        _write_manifest(staged)
        files = _send(system, root, staged, old_files)
    return Publication(version, changed=True, files=files, changes=changes)


def _listed(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _stage_tables(settings: Settings, staged: Path, policy: Policy, *, pseudonymise: bool) -> list[TableFiles]:
    source = settings.benchmark_dir
    if not (source / "statistics.json").exists():
        msg = "there is no built data set"
        raise InputError(msg, hint="run `rescue build` first")
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


def _pseudonyms(settings: Settings) -> Pseudonyms:
    names: dict[str, list[str]] = {}
    for file in sorted((settings.benchmark_dir / "conversations").glob("*.parquet")):
        for row in read_rows(file):
            names.setdefault(row["group_id"], []).extend(row["participants"])
    # Someone who speaks may be missing from the participants.
    for file in sorted((settings.benchmark_dir / "rows").glob("*.parquet")):
        for row in pq.read_table(file, columns=["group_id", "primary_speaker", "target"]).to_pylist():
            names.setdefault(row["group_id"], []).extend([row["primary_speaker"], *row["target"]])
    return Pseudonyms(load_key(settings.data / "pseudonym.key"), names)


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
    if not system.exists(f"{root}/{MANIFEST}"):
        if system.exists(root) and system.ls(root):
            msg = "the target holds files, but no publication"
            raise InputError(msg, hint="name an empty or new folder")
        return set()
    lines = system.cat_file(f"{root}/{MANIFEST}").decode().splitlines()
    listed = {line.partition("  ")[2] for line in lines}
    # The list comes from the target: a name that leads outside it is not followed.
    inside = {path for path in listed if path and ".." not in PurePosixPath(path).parts and not path.startswith("/")}
    for path in inside:
        if system.exists(f"{root}/{path}"):
            (before / path).parent.mkdir(parents=True, exist_ok=True)
            system.get_file(f"{root}/{path}", str(before / path))
    return inside


def _send(system: Any, root: str, staged: Path, old_files: set[str]) -> tuple[str, ...]:
    files = _listed(staged)
    for path in files:
        # The manifest goes last: until it is there, the old one names what is valid.
        if path != MANIFEST:
            system.makedirs(f"{root}/{path}".rpartition("/")[0], exist_ok=True)
            system.put_file(str(staged / path), f"{root}/{path}")
    for path in sorted(old_files - set(files)):
        if system.exists(f"{root}/{path}"):
            system.rm_file(f"{root}/{path}")
    system.put_file(str(staged / MANIFEST), f"{root}/{MANIFEST}")
    return tuple(files)
