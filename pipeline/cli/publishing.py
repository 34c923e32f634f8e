"""``rescue publish``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pipeline.cli.console import JsonOption, out, print_json
from pipeline.dataset.policy import Policy
from pipeline.dataset.publish import publish_configured
from pipeline.settings import load_settings

__all__ = ["publish"]


def publish(
    *,
    target: Annotated[str | None, typer.Option("--to", help="A folder, or an address such as s3://bucket/set.")] = None,
    policy: Annotated[Policy | None, typer.Option(help="How much of the text to show; the least without it.")] = None,
    keep_names: Annotated[
        bool, typer.Option("--keep-names", help="Publish names and ids as they are, without pseudonyms.")
    ] = False,
    name: Annotated[str | None, typer.Option(help="Title of the data set.")] = None,
    licence: Annotated[str | None, typer.Option(help="Short name of the terms.")] = None,
    terms: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A text file with the terms.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Publish the built data set as a folder that others can load. No recording is in it.

    What is not given is taken from `publication:` in rescue.yaml.

    Example: rescue publish --to share/v1 --policy text
    """
    settings = load_settings()
    given = {"to": target, "policy": policy, "keep_names": keep_names or None, "name": name, "licence": licence,
             "terms": terms}  # fmt: skip
    chosen = settings.publication.model_copy(update={key: value for key, value in given.items() if value is not None})
    done = publish_configured(settings, chosen)
    if as_json:
        print_json({"version": done.version, "changed": done.changed, "files": list(done.files)})
        return
    if not done.changed:
        out.print(Text(f"version {done.version} is there already: nothing changed"))
        return
    out.print(Text(f"published version {done.version}: {len(done.files)} files, policy {chosen.policy.value}"))
    if not chosen.keep_names:
        out.print(Text("names are replaced where they are known; read the text before you share it", style="yellow"))
