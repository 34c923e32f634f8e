"""What the assets share: the settings, the conversations, and the models of a run."""

from __future__ import annotations

from functools import cached_property

import dagster as dg
from pydantic import Field

from pipeline.build import Found, find_workspaces, stations
from pipeline.settings import Settings, load_settings
from pipeline.speech.models import Models
from pipeline.station import Station

__all__ = ["Project"]


class Project(dg.ConfigurableResource[None]):
    """The project folder as the library sees it.

    Settings come from the same places as for the ``rescue`` command. Models are loaded when a station first needs
    them, and serve every conversation of the run: Dagster makes one resource a run, and a run is one process.
    """

    profile: str | None = Field(
        default=None, description="`offline` or `gpu`. Leave it empty to use what `rescue.yaml` or RESCUE_PROFILE says."
    )

    @cached_property
    def settings(self) -> Settings:
        """The settings in force."""
        return load_settings(profile=self.profile)

    @cached_property
    def line(self) -> tuple[Station, ...]:
        """The stations of a conversation, in order, sharing the models of this run."""
        return stations(Models(self.settings))

    def found(self) -> Found:
        """The conversations in the raw folder now."""
        return find_workspaces(self.settings)
