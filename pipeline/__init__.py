"""rescue: recorded multi-party conversations into a verified, multimodal, relation-aware benchmark."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("rescue-bench")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
