"""``rescue publish``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.cli.console import JsonOption, out, print_json
from pipeline.dataset.policy import Policy
from pipeline.dataset.publish import publish as publish_dataset
from pipeline.settings import load_settings

__all__ = ["publish"]


def publish(
    *,
    target: Annotated[str, typer.Option("--to", help="A folder, or an address such as s3://bucket/set.")],
    policy: Annotated[Policy, typer.Option(help="How much of the text to show.")] = Policy.ANNOTATIONS_ONLY,
    keep_names: Annotated[
        bool, typer.Option("--keep-names", help="Publish names and ids as they are, without pseudonyms.")
    ] = False,
    name: Annotated[str, typer.Option(help="Title of the data set.")] = "Annotated conversations",
    licence: Annotated[str, typer.Option(help="Short name of the terms.")] = "research-only",
    terms: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A text file with the terms.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Publish the built data set as a folder that others can load. No recording is in it.

    Example: rescue publish --to share/v1 --policy text
    """
    done = publish_dataset(
        load_settings(),
        target,
        policy=policy,
        pseudonymise=not keep_names,
        name=name,
        licence=licence,
        terms=terms,
    )
    if as_json:
        print_json({"version": done.version, "changed": done.changed, "files": list(done.files)})
        return
    if not done.changed:
        out.print(Text(f"version {done.version} is there already: nothing changed"))
        return
    out.print(Text(f"published version {done.version}: {len(done.files)} files, policy {policy.value}"))
    if not keep_names:
        out.print(Text("names are replaced where they are known; read the text before you share it", style="yellow"))
