from __future__ import annotations

import pytest

from steersman.apimachinery.protowire import boolean, integer, length_delimited
from steersman.storage.etcd import messages


def test_fields_of_every_wire_type_are_read():
    data = integer(1, 300) + length_delimited(2, b"ab") + b"\x19" + bytes(8) + b"\x25" + bytes(4) + integer(500, 1)
    assert messages.read_fields(data) == [(1, 300), (2, b"ab"), (3, bytes(8)), (4, bytes(4)), (500, 1)]


@pytest.mark.parametrize(
    "data", [b"\x08", b"\x12\x05a", b"\x19\x00", b"\x0b", b"\x80", b"\x08" + b"\xff" * 10 + b"\x01"]
)
def test_truncated_or_unknown_bytes_are_malformed(data):
    with pytest.raises(messages.MalformedMessageError):
        messages.read_fields(data)


def test_key_is_read_and_unknown_fields_are_skipped():
    data = b"".join(
        [
            length_delimited(1, b"k"), integer(2, 5), integer(3, 7), integer(4, 2), length_delimited(5, b"v"),
            integer(6, -1), length_delimited(99, b"new"),
        ]
    )  # fmt: skip
    assert messages.read_key(data) == messages.StoredKey(b"k", b"v", 5, 7, 2, -1)


def test_range_request_leaves_out_zero_values():
    assert messages.range_request(b"k") == b"\x0a\x01k"
    request = messages.read_fields(messages.range_request(b"a", b"b", limit=9, revision=8, keys_only=True))
    assert request == [(1, b"a"), (2, b"b"), (3, 9), (4, 8), (8, 1)]


def test_compare_writes_a_revision_of_zero():
    assert messages.read_fields(messages.compare_mod_revision(b"k", 0)) == [(2, 2), (3, b"k"), (6, 0)]
    assert messages.read_fields(messages.compare_version(b"k", 300)) == [(3, b"k"), (4, 300)]


def test_transaction_response_has_the_answers_to_its_ranges():
    answer = length_delimited(2, length_delimited(1, b"k") + integer(3, 7)) + integer(4, 1)
    data = length_delimited(1, integer(3, 12)) + b"".join(
        length_delimited(3, item) for item in (length_delimited(1, answer), length_delimited(2, b""))
    )
    response = messages.read_txn(data)
    assert (response.header.revision, response.succeeded) == (12, False)
    assert [(kv.key, kv.mod_revision) for kv in response.ranges[0].kvs] == [(b"k", 7)]
    assert len(response.ranges) == 1


def test_deletion_has_the_create_revision_of_the_deleted_key():
    kv = length_delimited(1, b"k") + integer(3, 9)
    previous = length_delimited(1, b"k") + integer(2, 4) + integer(3, 6)
    event = integer(1, 1) + length_delimited(2, kv) + length_delimited(3, previous)
    response = messages.read_watch(length_delimited(1, integer(3, 9)) + length_delimited(11, event))
    assert [(e.kv.mod_revision, e.is_delete, e.previous_create_revision) for e in response.events] == [(9, True, 4)]


def test_cancelled_watch_has_the_compact_revision():
    data = boolean(4, True) + integer(5, 77) + length_delimited(6, b"why")
    response = messages.read_watch(data)
    assert (response.is_canceled, response.compact_revision, response.cancel_reason) == (True, 77, "why")


def test_alarms_are_named():
    data = length_delimited(2, integer(1, 3) + integer(2, 1)) + length_delimited(2, integer(1, 4) + integer(2, 9))
    assert messages.read_alarms(data) == [(3, "NOSPACE"), (4, "alarm 9")]
