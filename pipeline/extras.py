"""Libraries that not everybody needs: loaded when they are used, and named with their cure where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from pipeline.errors import PrerequisiteError

__all__ = ["load"]


def load(module: str, extra: str) -> Any:
    """A module of an extra of ``pyproject.toml``.

    Raises:
        PrerequisiteError: If it is not installed; the hint is the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        msg = f"{module.partition('.')[0]} is not installed"
        raise PrerequisiteError(msg, hint=f"pip install 'rescue-bench[{extra}]'") from error
