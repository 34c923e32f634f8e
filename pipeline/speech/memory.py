"""A batch that becomes smaller when the memory of a device runs out."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TypeVar

from pipeline.errors import PrerequisiteError

__all__ = ["SMALLER_BATCH", "Batch"]

logger = logging.getLogger(__name__)

SMALLER_BATCH = "smaller_batch"
"""Flag of a result for which fewer windows than configured were computed at once."""

Result = TypeVar("Result")


class Batch:
    """How many windows a model computes at once: as configured, until that is too much for the device.

    What was found to fit is kept for the recordings that follow.

    Args:
        size: As configured, at least 1.
    """

    def __init__(self, size: int) -> None:
        self.configured = size
        self.size = size

    @property
    def flags(self) -> tuple[str, ...]:
        """`SMALLER_BATCH` where the configured size did not fit."""
        return (SMALLER_BATCH,) if self.size < self.configured else ()

    def run(self, work: Callable[[int], Result]) -> Result:
        """The result of ``work``, which gets the size; out of memory, it is done again with half of it.

        Raises:
            PrerequisiteError: If the memory is not enough for a batch of one.
        """
        while True:
            try:
                return work(self.size)
            except RuntimeError as error:
                if not _out_of_memory(error):
                    raise
                if self.size == 1:
                    msg = f"the device has not enough memory for one window: {_first_line(error)}"
                    hint = "end other programs on the GPU, choose a smaller model, or set RESCUE_DEVICE=cpu"
                    raise PrerequisiteError(msg, hint=hint) from error
            # Outside of the handler: there the error would still hold what the failed attempt had allocated.
            self.size //= 2
            logger.warning("out of memory: going on with a batch of %d (configured: %d)", self.size, self.configured)
            _free()


def _out_of_memory(error: RuntimeError) -> bool:
    """Whether it is torch's ``OutOfMemoryError``, or an error of CTranslate2 or cuBLAS that says the same."""
    text = str(error)
    return "out of memory" in text.lower() or "ALLOC_FAILED" in text


def _first_line(error: RuntimeError) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _free() -> None:
    """Give cached blocks back to the device, so that any library can use them."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
