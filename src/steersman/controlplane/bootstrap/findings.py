"""What a repair pass finds, and what follows from it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Fault(StrEnum):
    """The ``type`` label of upstream's repair metrics."""

    INVALID = "invalid"
    OUT_OF_RANGE = "outOfRange"
    REPAIR = "repair"
    DUPLICATE = "duplicate"
    LEAK = "leak"
    FULL = "full"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong with one object, in the words of the event that tells of it."""

    fault: Fault
    #: The object that the event is about.
    about: dict[str, Any]
    reason: str
    action: str
    note: str
