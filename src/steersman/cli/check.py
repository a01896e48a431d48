"""``steersman check``: verify a data directory that no API server uses."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.protowire import wire_fields
from steersman.cli.data_directory import add_data_dir, store_path
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.schema.protobuf import MAGIC, open_envelope
from steersman.storage.sqlite.lock import FileLock
from steersman.storage.sqlite.salvage import inspect
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Values below these prefixes are objects.
_OBJECTS: Final = "/registry/"
#: Values below these have no name, or another name than their key.
_UNNAMED: Final = ("/registry/masterleases/", "/registry/peerserverleases/", "/registry/ranges/")
#: Encrypted values are opaque here; ``check-storage`` decrypts them.
_ENCRYPTED: Final = b"k8s:enc:"


class _Metadata(msgspec.Struct):
    name: str


class _Object(msgspec.Struct):
    kind: str
    metadata: _Metadata


_decode: Final = msgspec.json.Decoder(_Object).decode


def run(arguments: Sequence[str]) -> int:
    """Check the data; return the exit code: 0 if it is valid, otherwise 1."""
    parser = FlagParser("check", PAGES["check"])
    add_data_dir(parser)
    path = store_path(parser.parse_args(arguments))
    try:
        lock = FileLock.take(path)
        try:
            report = inspect(path, decode=decode_problem)
        finally:
            lock.release()
    except StoreError as error:
        sys.stderr.write(f"steersman: {error}\n")
        return 1
    sys.stdout.write(
        f"{path}: schema {report.schema}, revision {report.revision}, {report.keys} keys, "
        f"{report.history_rows} rows of history\n"
    )
    for key in report.corrupt_keys:
        sys.stdout.write(f"  {key}: the stored data does not match its checksum\n")
    for problem in report.problems:
        sys.stdout.write(f"  {problem}\n")
    if report.is_sound:
        sys.stdout.write("no problems found\n")
        return 0
    return 1


def decode_problem(key: str, value: bytes) -> str:
    """Return why a stored object cannot be decoded; "" if it can."""
    if not key.startswith(_OBJECTS):
        return ""
    if value.startswith(_ENCRYPTED) or key.startswith(_UNNAMED):
        return ""
    try:
        named = _named_protobuf(value) if value.startswith(MAGIC) else _decode(value).metadata.name
    except (msgspec.MsgspecError, UnicodeDecodeError, DecodeError) as error:
        return f"does not decode: {error}"
    name = key.rpartition("/")[2]
    return "" if named == name else f"holds an object named {named!r}"


def _named_protobuf(value: bytes) -> str:
    """Return ``metadata.name`` of an object in protobuf. Raises ``DecodeError``."""
    metadata = _field(open_envelope(value).raw, 1)
    return _field(metadata, 1).decode()


def _field(raw: bytes, number: int) -> bytes:
    value = dict(wire_fields(raw)).get(number, b"")
    return b"" if isinstance(value, int) else value
