from __future__ import annotations

import pytest

from steersman.storage.sqlite.ack_record import (
    RECORD_BYTES,
    AckFile,
    AckRecord,
    WalPosition,
    fingerprint_of,
    head_checksum,
    head_of,
    read_record,
    row_checksum,
)

RECORD = {"session": 1 << 61, "previous_session": 7, "revision": 1 << 40, "fingerprint": (1 << 63) - 1}


def fields(record):
    return {name: getattr(record, name) for name in record.__slots__}


def test_record_survives_encoding():
    record = AckRecord(**RECORD, next_revision=9, next_fingerprint=8, is_closed=True, wal=WalPosition(77, b"12345678"))
    assert len(record.encode()) == RECORD_BYTES < 512
    assert fields(AckRecord.decode(record.encode())) == fields(record)


@pytest.mark.parametrize("bit", range(0, RECORD_BYTES * 8, 7))
def test_record_with_one_flipped_bit_is_read_from_the_other_copy(bit):
    record = AckRecord(**RECORD)
    data = bytearray(record.encode())
    data[bit // 8] ^= 1 << bit % 8
    assert fields(AckRecord.decode(bytes(data))) == fields(record)


@pytest.mark.parametrize("data", [b"", b"x" * RECORD_BYTES, AckRecord(**RECORD).encode()[:40], bytes(RECORD_BYTES)])
def test_record_that_is_damaged_twice_is_none(data):
    assert AckRecord.decode(data) is None


def test_record_file_is_private_and_overwritten_in_place(tmp_path):
    store = str(tmp_path / "store.db")
    assert read_record(store) == (None, False)
    file = AckFile(store, create=True)
    assert read_record(store) == (None, True)
    for revision in (5, 6):
        file.write(AckRecord(**{**RECORD, "revision": revision}))
    file.close()
    assert read_record(store)[0].revision == 6
    assert (tmp_path / "store.db-ack").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "other", [("/b", 1, 1, 0, b"v"), ("/a", 2, 1, 0, b"v"), ("/a", 1, 2, 0, b"v"), ("/a", 1, 1, 3, b"v")]
)
def test_checksum_covers_every_column(other):
    row = ("/a", 1, 1, 0, b"v")
    assert head_checksum(*other[:4]) != head_checksum(*row[:4])
    assert row_checksum(*other) != row_checksum(*row)
    assert row_checksum(*row[:4], b"w") != row_checksum(*row)
    assert head_of(row_checksum(*row[:4], b"w")) == head_checksum(*row[:4])
    assert 0 <= row_checksum(*row) < 1 << 63


def test_fingerprint_counts_rows_and_sums_revisions():
    assert fingerprint_of(0, 0) == 0
    assert len({fingerprint_of(2, 7), fingerprint_of(3, 7), fingerprint_of(2, 8)}) == 3
    assert fingerprint_of(5, 1 << 60) < 1 << 63
