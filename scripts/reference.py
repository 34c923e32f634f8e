"""Write the reference pages that follow from the code: commands and settings. A test keeps them current.

python scripts/reference.py
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pipeline.cli.app import app
from pipeline.settings import PROFILES, Settings

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"

_SETTINGS_HEAD = """# Settings

Written by `scripts/reference.py`.

Settings come from the profile, then `rescue.yaml` in the project folder, then environment variables, then the command
line; the later one wins. A nested setting is `section: {name: value}` in the file and `RESCUE_SECTION__NAME` in the
environment.

```yaml
# rescue.yaml
profile: offline
recognition:
  beam_size: 5
```
"""


def settings_page() -> str:
    """The page on settings, from the model and its docstrings."""
    sections = [_SETTINGS_HEAD, _table("Top level", Settings)]
    for name, field in Settings.model_fields.items():
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel):
            sections.append(_table(f"`{name}`", field.annotation))
    sections += [_profile(name, values) for name, values in PROFILES.items() if values]
    return "\n".join(sections)


def _profile(name: str, values: dict[str, object]) -> str:
    rows = []
    for key, value in values.items():
        nested = value if isinstance(value, dict) else {None: value}
        rows += [f"| `{key if inner is None else f'{key}.{inner}'}` | `{found}` |\n" for inner, found in nested.items()]
    return f"\n## The profile `{name}`\n\n| name | value |\n|---|---|\n{''.join(rows)}"


def commands_page() -> str:
    """The page on commands, from their help texts."""
    head = """# Commands

Written by `scripts/reference.py`. Every command has `--help`; exit code 0 only if all went well, 1 if some conversation
failed, 2 for wrong usage.
"""
    command = typer.main.get_command(app)
    return head + "".join(_commands(command, "rescue"))


def _commands(command: object, name: str) -> Iterator[str]:
    for child_name, child in sorted(getattr(command, "commands", {}).items()):
        full = f"{name} {child_name}"
        if getattr(child, "commands", None) and not getattr(child, "invoke_without_command", False):
            yield from _commands(child, full)
            continue
        yield f"\n## {full}\n\n{inspect.cleandoc(child.help or '')}\n"
        rows = [(_usage(parameter), getattr(parameter, "help", None) or "") for parameter in child.params]
        if rows:
            yield "\n| | |\n|---|---|\n" + "".join(f"| `{usage}` | {text} |\n" for usage, text in rows)
        yield from _commands(child, full)


def _usage(parameter: object) -> str:
    if getattr(parameter, "param_type_name", "") == "argument":
        return str(getattr(parameter, "metavar", None) or getattr(parameter, "name", "")).upper()
    return ", ".join(getattr(parameter, "opts", ()))


def _table(title: str, model: type[BaseModel]) -> str:
    rows = [
        f"| `{name}` | {_default(field)} | {' '.join((field.description or '').split())} |\n"
        for name, field in model.model_fields.items()
        if not (inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel))
    ]
    about = inspect.cleandoc(model.__doc__ or "").partition("\n")[0] if model is not Settings else ""
    return f"\n## {title}\n\n{about}\n\n| name | default | |\n|---|---|---|\n{''.join(rows)}"


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return "from the machine" if field.annotation is int else "none"
    return f"`{field.default}`"


if __name__ == "__main__":
    (REFERENCE / "settings.md").write_text(settings_page(), encoding="utf-8")
    (REFERENCE / "commands.md").write_text(commands_page(), encoding="utf-8")
