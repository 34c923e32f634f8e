"""The ``rescue`` command: one module a command group, no logic of its own."""

from pipeline.cli.app import main

__all__ = ["main"]
