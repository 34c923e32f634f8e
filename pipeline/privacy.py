"""The one place that keeps libraries from calling home.

Recordings of therapy are private: no library may send usage data, and in the offline profile none may reach the
network at all. The switches are environment variables that the libraries read when they are imported, so these
functions run before the imports.
"""

from __future__ import annotations

import os
import sys

__all__ = ["go_offline", "go_private"]

_PRIVATE = {
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "FASTAPI_OTEL_AUTO_CONFIGURE": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "OTEL_SDK_DISABLED": "true",
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime: else it sends events from native code and leaves an id in the home
    "PYANNOTE_METRICS_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
_OFFLINE = {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def go_private() -> None:
    """Turn usage data off in every library that this project uses. A user's own setting does not turn it on again."""
    os.environ.update(_PRIVATE)


def go_offline() -> None:
    """Keep model libraries from the network, also those that are imported already: models come from this machine."""
    go_private()
    os.environ.update(_OFFLINE)
    hub = sys.modules.get("huggingface_hub.constants")
    if hub is not None:
        hub.HF_HUB_OFFLINE = True  # type: ignore[attr-defined]  # read at import, before the variable was set
