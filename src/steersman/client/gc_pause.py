"""Pause of garbage collection while many objects are decoded: they all survive, so collections only cost time.

For code without ``await``, so that other tasks' garbage is delayed by at most one batch.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Smaller inputs decode to too few objects to matter.
_WORTHWHILE_BYTES: Final = 32 * 1024


@contextmanager
def gc_paused(input_bytes: int) -> Iterator[None]:
    """Disable garbage collection in the block if the input is large and collection is enabled."""
    if input_bytes < _WORTHWHILE_BYTES or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
