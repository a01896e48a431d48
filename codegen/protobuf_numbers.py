"""Reads protobuf field numbers out of a kubectl binary: ``python -m codegen.protobuf_numbers /usr/bin/kubectl``.

Go programs that speak Kubernetes' protobuf carry the compressed descriptors of every message. What is taken are facts
(message, field, number), merged into ``overlay/protobuf.json``; messages and fields that are newer than the binary were
added there by hand, and stay. Messages of versions that are not served are left out.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

OVERLAY = Path(__file__).parent / "overlay" / "protobuf.json"
_GZIP = re.compile(rb"\x1f\x8b\x08\x00\x00\x00\x00\x00[\x00\x02\x04]\xff")
_FILE_BYTES_MAX = 400_000
#: Messages of these packages are served: the stable versions of all groups, and elections.
_PACKAGES = re.compile(r"k8s\.io\.(apimachinery\.pkg\..*|api\.\w+\.v[0-9]+|api\.coordination\.\w+)")


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(raw):
        key, at = _varint(raw, at)
        if key & 7 == 0:
            value, at = _varint(raw, at)
            yield key >> 3, value
        elif key & 7 == 2:
            size, at = _varint(raw, at)
            yield key >> 3, raw[at : at + size]
            at += size
        else:
            at += 8 if key & 7 == 1 else 4


def descriptors(binary: bytes) -> Iterator[bytes]:
    """Every ``FileDescriptorProto`` in the binary."""
    for match in _GZIP.finditer(binary):
        try:
            text = zlib.decompressobj(31).decompress(binary[match.start() : match.start() + _FILE_BYTES_MAX])
        except zlib.error:
            continue
        if text[:1] == b"\n" and b"k8s.io" in text[:64]:
            yield text


def messages(file: bytes) -> Iterator[tuple[str, dict[str, list[object]]]]:
    """Each message of a file: its name, and field → [number, type's name if it is a message of a served package]."""
    top = list(_fields(file))
    package = next((v.decode() for n, v in top if n == 2 and isinstance(v, bytes)), "")
    if not _PACKAGES.fullmatch(package):
        return
    for number, value in top:
        if number == 4 and isinstance(value, bytes):
            parts = list(_fields(value))
            name = next(v.decode() for n, v in parts if n == 1 and isinstance(v, bytes))
            rows = [_field(v) for n, v in parts if n == 2 and isinstance(v, bytes)]
            yield f"{package}.{name}", {row[0]: list(row[1:]) for row in rows}


def _field(raw: bytes) -> tuple[str, int, str]:
    parts = dict(_fields(raw))
    name, type_name = parts[1], parts.get(6, b"")
    assert isinstance(name, bytes)
    assert isinstance(type_name, bytes)
    return name.decode(), int(parts[3]), type_name.decode().lstrip(".")


def main() -> None:
    found: dict[str, dict[str, list[object]]] = json.loads(OVERLAY.read_text()) if OVERLAY.exists() else {}
    for file in descriptors(Path(sys.argv[1]).read_bytes()):
        for name, fields in messages(file):
            rows = {key: [n for n in row if n != ""] for key, row in fields.items()}
            found[name] = found.get(name, {}) | rows
    text = ",\n".join(f"{json.dumps(n)}:{json.dumps(f, separators=(',', ':'))}" for n, f in sorted(found.items()))
    OVERLAY.write_text("{\n" + text + "\n}\n")
    print(f"{len(found)} messages")


if __name__ == "__main__":
    main()
