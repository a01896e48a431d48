"""Messages of etcd: decoding raises MalformedMessageError only, and keeps integers within 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from steersman.storage.etcd import messages

TOKENS = (b"\x0a\x04\x08\x01\x10\x02", b"\x18\x05", b"\x12\x0a\x0a\x01k\x10\x01\x18\x02\x2a\x01v", b"\x5a\x05\x08\x01\x12\x01k", b"\x80", b"\xff", b"\xff" * 9 + b"\x01",
          b"\x09", b"\x0d", b"\x0b", b"\x1a\x02\x0a\x00", b"\x20\x01", b"\x32\x02no", b"\x38\x01", b"\x00")  # fmt: skip
READERS: tuple[Callable[[bytes], Any], ...] = (
    messages.read_fields, messages.read_key, messages.read_header, messages.read_range, messages.read_txn, messages.read_lease,
    messages.read_status, messages.read_alarms, messages.read_watch,
)  # fmt: skip


def run(data: bytes) -> None:
    for read in READERS:
        try:
            message = read(data)
        except messages.MalformedMessageError:
            continue
        _check(message)


def _check(value: Any) -> None:
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.astuple(value)
    if isinstance(value, list | tuple):
        for item in value:
            _check(item)
    elif isinstance(value, int):
        assert -(2**63) <= value < 2**64, value
