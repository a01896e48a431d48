"""Messages of etcd's gRPC API, encoded and decoded field by field.

Only the messages and fields that the store uses; unknown fields are skipped. Field numbers: etcd's
``api/etcdserverpb/rpc.proto`` and ``api/mvccpb/kv.proto``.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.apimachinery.protowire import boolean, integer, length_delimited
from steersman.storage.store import Unavailable

#: ``Compare.EQUAL`` is 0; ``Compare.MOD`` and ``Compare.VERSION`` are targets.
_TARGET_VERSION: Final = 0
_TARGET_MOD: Final = 2

#: Range of all keys: ``key`` and ``range_end`` of one NUL.
ALL_KEYS: Final = (b"\0", b"\0")

_VARINT_BITS_MAX: Final = 70
_UINT64_MAX: Final = (1 << 64) - 1


class MalformedMessageError(Unavailable):
    """Response of etcd that is no protobuf message, or has fields of wrong types."""


def read_fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """Return number and value of every field, in order: integers, or the bytes of length-delimited and fixed fields."""
    fields: list[tuple[int, int | bytes]] = []
    position, end = 0, len(data)
    try:
        while position < end:
            tag = data[position]
            position += 1
            if tag > 0x7F:
                tag, position = _varint(data, position - 1)
            wire_type = tag & 7
            number = data[position]
            position += 1
            if wire_type == 0:
                if number > 0x7F:
                    number, position = _varint(data, position - 1)
                fields.append((tag >> 3, number))
            elif wire_type == 2:
                if number > 0x7F:
                    number, position = _varint(data, position - 1)
                stop = position + number
                if stop > end:
                    raise MalformedMessageError("a field ends after its message")
                fields.append((tag >> 3, data[position:stop]))
                position = stop
            elif wire_type in (1, 5):
                stop = position - 1 + (8 if wire_type == 1 else 4)
                if stop > end:
                    raise MalformedMessageError("a field ends after its message")
                fields.append((tag >> 3, data[position - 1 : stop]))
                position = stop
            else:
                raise MalformedMessageError(f"wire type {wire_type}")
    except IndexError as error:
        raise MalformedMessageError("a message ends within a field") from error
    return fields


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number, shift = 0, 0
    while shift < _VARINT_BITS_MAX:
        octet = data[position]
        position += 1
        number |= (octet & 0x7F) << shift
        if octet < 0x80:
            return number & _UINT64_MAX, position
        shift += 7
    raise MalformedMessageError("an integer is longer than 10 bytes")


def _integer(value: int | bytes) -> int:
    if isinstance(value, int):
        return value - (1 << 64) if value >= 1 << 63 else value
    raise MalformedMessageError("bytes in the place of an integer")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise MalformedMessageError("an integer in the place of bytes")


class StoredKey(msgspec.Struct, frozen=True, gc=False):
    """``mvccpb.KeyValue``."""

    key: bytes
    value: bytes
    create_revision: int
    mod_revision: int
    #: Number of writes since the key was created.
    version: int
    lease: int


def read_key(data: bytes) -> StoredKey:
    key, value = b"", b""
    create_revision = mod_revision = version = lease = 0
    for number, field in read_fields(data):
        if number == 1:
            key = _bytes(field)
        elif number == 2:
            create_revision = _integer(field)
        elif number == 3:
            mod_revision = _integer(field)
        elif number == 4:
            version = _integer(field)
        elif number == 5:
            value = _bytes(field)
        elif number == 6:
            lease = _integer(field)
    return StoredKey(key, value, create_revision, mod_revision, version, lease)


class Header(msgspec.Struct, frozen=True, gc=False):
    """``ResponseHeader``."""

    cluster_id: int = 0
    member_id: int = 0
    #: Revision of the member's store when the request was applied.
    revision: int = 0


def read_header(data: bytes) -> Header:
    cluster_id = member_id = revision = 0
    for number, field in read_fields(data):
        if number == 1:
            cluster_id = _integer(field)
        elif number == 2:
            member_id = _integer(field)
        elif number == 3:
            revision = _integer(field)
    return Header(cluster_id, member_id, revision)


# -- ranges --------------------------------------------------------------------------------------------------------------


def range_request(
    key: bytes,
    range_end: bytes = b"",
    *,
    limit: int = 0,
    revision: int = 0,
    keys_only: bool = False,
    count_only: bool = False,
) -> bytes:
    """Encode a ``RangeRequest``; linearizable, as ``serializable`` is left unset."""
    return b"".join(
        (
            length_delimited(1, key),
            length_delimited(2, range_end) if range_end else b"",
            integer(3, limit),
            integer(4, revision),
            boolean(8, keys_only),
            boolean(9, count_only),
        )
    )


class RangeResponse(msgspec.Struct, frozen=True, gc=False):
    header: Header
    kvs: list[StoredKey]
    more: bool
    #: Number of keys in the range, returned or not.
    count: int


def read_range(data: bytes) -> RangeResponse:
    """Decode a ``RangeResponse``."""
    header, kvs, more, count = Header(), list[StoredKey](), False, 0
    for number, field in read_fields(data):
        if number == 2:
            kvs.append(read_key(_bytes(field)))
        elif number == 1:
            header = read_header(_bytes(field))
        elif number == 3:
            more = bool(field)
        elif number == 4:
            count = _integer(field)
    return RangeResponse(header, kvs, more, count)


# -- transactions --------------------------------------------------------------------------------------------------------


def compare_mod_revision(key: bytes, revision: int) -> bytes:
    """Encode a ``Compare``: the key was last written at ``revision``; 0: it does not exist."""
    return integer(2, _TARGET_MOD) + length_delimited(3, key) + b"\x30" + _plain_varint(revision)


def compare_version(key: bytes, version: int) -> bytes:
    """Encode a ``Compare``: the key has been written ``version`` times since its creation."""
    return integer(2, _TARGET_VERSION) + length_delimited(3, key) + b"\x20" + _plain_varint(version)


def _plain_varint(number: int) -> bytes:
    # members of a ``oneof`` are written even when they are 0
    return integer(1, number)[1:] or b"\0"


def put_op(key: bytes, value: bytes, *, lease: int = 0) -> bytes:
    """Encode a ``RequestOp`` with a ``PutRequest``."""
    return length_delimited(2, length_delimited(1, key) + length_delimited(2, value) + integer(3, lease))


def delete_op(key: bytes) -> bytes:
    """Encode a ``RequestOp`` with a ``DeleteRangeRequest`` of one key."""
    return length_delimited(3, length_delimited(1, key))


def range_op(key: bytes) -> bytes:
    """Encode a ``RequestOp`` with a ``RangeRequest`` of one key."""
    return length_delimited(1, length_delimited(1, key))


def txn_request(compare: list[bytes], success: list[bytes], failure: list[bytes]) -> bytes:
    """Encode a ``TxnRequest``."""
    return b"".join(
        [
            *[length_delimited(1, message) for message in compare],
            *[length_delimited(2, message) for message in success],
            *[length_delimited(3, message) for message in failure],
        ]
    )


class TxnResponse(msgspec.Struct, frozen=True, gc=False):
    header: Header
    succeeded: bool
    #: Results of the range operations of a failed transaction, in order.
    ranges: list[RangeResponse]


def read_txn(data: bytes) -> TxnResponse:
    """Decode a ``TxnResponse``."""
    header, succeeded, responses = Header(), False, list[bytes]()
    for number, field in read_fields(data):
        if number == 1:
            header = read_header(_bytes(field))
        elif number == 2:
            succeeded = bool(field)
        elif number == 3:
            responses.append(_bytes(field))
    if succeeded:
        return TxnResponse(header, succeeded, [])
    ranges = [read_range(_bytes(inner)) for data in responses for kind, inner in read_fields(data) if kind == 1]
    return TxnResponse(header, succeeded, ranges)


# -- compaction, leases, maintenance -------------------------------------------------------------------------------------


def compaction_request(revision: int) -> bytes:
    """Encode a ``CompactionRequest``."""
    return integer(1, revision)


def lease_grant_request(ttl_seconds: int, lease_id: int) -> bytes:
    """Encode a ``LeaseGrantRequest``; etcd chooses the id for 0."""
    return integer(1, ttl_seconds) + integer(2, lease_id)


def lease_request(lease_id: int) -> bytes:
    """Encode a ``LeaseRevokeRequest`` or a ``LeaseKeepAliveRequest``."""
    return integer(1, lease_id)


class LeaseResponse(msgspec.Struct, frozen=True, gc=False):
    header: Header
    lease_id: int
    #: Remaining seconds; 0 or less for a lease that does not exist.
    ttl_seconds: int


def read_lease(data: bytes) -> LeaseResponse:
    """Decode a ``LeaseGrantResponse``, ``LeaseRevokeResponse`` or ``LeaseKeepAliveResponse``."""
    header, lease_id, ttl_seconds = Header(), 0, 0
    for number, field in read_fields(data):
        if number == 1:
            header = read_header(_bytes(field))
        elif number == 2:
            lease_id = _integer(field)
        elif number == 3:
            ttl_seconds = _integer(field)
    return LeaseResponse(header, lease_id, ttl_seconds)


class MemberStatus(msgspec.Struct, frozen=True, gc=False):
    """``StatusResponse``."""

    header: Header
    version: str
    size_bytes: int
    leader: int


def read_status(data: bytes) -> MemberStatus:
    header, version, size_bytes, leader = Header(), "", 0, 0
    for number, field in read_fields(data):
        if number == 1:
            header = read_header(_bytes(field))
        elif number == 2:
            version = _bytes(field).decode(errors="replace")
        elif number == 3:
            size_bytes = _integer(field)
        elif number == 4:
            leader = _integer(field)
    return MemberStatus(header, version, size_bytes, leader)


ALARM_NAMES: Final = {1: "NOSPACE", 2: "CORRUPT"}


def read_alarms(data: bytes) -> list[tuple[int, str]]:
    """Decode an ``AlarmResponse``: member id and name of each raised alarm."""
    alarms = []
    for number, field in read_fields(data):
        if number == 2:
            member_id = kind = 0
            for inner, value in read_fields(_bytes(field)):
                if inner == 1:
                    member_id = _integer(value)
                elif inner == 2:
                    kind = _integer(value)
            alarms.append((member_id, ALARM_NAMES.get(kind, f"alarm {kind}")))
    return alarms


# -- watches -------------------------------------------------------------------------------------------------------------


def watch_request(*, start_revision: int) -> bytes:
    """Encode a ``WatchRequest`` for all keys from ``start_revision`` on, with previous states."""
    key, range_end = ALL_KEYS
    create = [
        length_delimited(1, key),
        length_delimited(2, range_end),
        integer(3, start_revision),
        boolean(6, True),
    ]
    return length_delimited(1, b"".join(create))


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """``mvccpb.Event``."""

    kv: StoredKey
    is_delete: bool
    #: ``create_revision`` of the deleted key; 0 for a put, and when the previous state has been compacted.
    previous_create_revision: int


class WatchResponse(msgspec.Struct, frozen=True, gc=False):
    header: Header
    is_created: bool
    is_canceled: bool
    #: Above 0 when the watch was canceled because its start has been compacted.
    compact_revision: int
    cancel_reason: str
    events: list[WatchEvent]


def read_watch(data: bytes) -> WatchResponse:
    """Decode a ``WatchResponse``."""
    header, created, canceled, compact_revision, reason = Header(), False, False, 0, ""
    events: list[WatchEvent] = []
    for number, field in read_fields(data):
        if number == 11:
            events.append(_read_event(_bytes(field)))
        elif number == 1:
            header = read_header(_bytes(field))
        elif number == 3:
            created = bool(field)
        elif number == 4:
            canceled = bool(field)
        elif number == 5:
            compact_revision = _integer(field)
        elif number == 6:
            reason = _bytes(field).decode(errors="replace")
    return WatchResponse(header, created, canceled, compact_revision, reason, events)


def _read_event(data: bytes) -> WatchEvent:
    kv, previous, is_delete = b"", b"", False
    for number, field in read_fields(data):
        if number == 2:
            kv = _bytes(field)
        elif number == 1:
            is_delete = bool(field)
        elif number == 3:
            previous = _bytes(field)
    created = read_key(previous).create_revision if is_delete and previous else 0
    return WatchEvent(read_key(kv), is_delete, created)
