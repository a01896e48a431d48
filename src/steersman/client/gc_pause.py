"""No garbage collection while many objects are made at once: they are all kept, so each pass over them is in vain.

Measured with 10,000 pods: 0.98 s with collections, 0.25 s without. Only for code that does not await, so that nobody
else's garbage waits longer than a batch takes to decode.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Smaller input makes few objects.
_WORTHWHILE_BYTES: Final = 32 * 1024


@contextmanager
def gc_paused(input_bytes: int) -> Iterator[None]:
    """For as long as the block runs, if it is about to decode enough and collections are on."""
    if input_bytes < _WORTHWHILE_BYTES or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
