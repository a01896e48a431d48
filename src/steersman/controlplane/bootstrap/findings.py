"""Findings of repair passes."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Fault(StrEnum):
    """Label ``type`` of upstream's repair metrics."""

    INVALID = "invalid"
    OUT_OF_RANGE = "outOfRange"
    REPAIR = "repair"
    DUPLICATE = "duplicate"
    LEAK = "leak"
    FULL = "full"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Fault of one object, with the message of its event."""

    fault: Fault
    #: The object that the event is about.
    about: dict[str, Any]
    reason: str
    action: str
    note: str
