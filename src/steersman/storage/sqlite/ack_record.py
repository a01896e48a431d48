"""Acknowledgement record, kept outside the database and its write-ahead log.

``<store>-ack`` holds one fixed-size record that names the last acknowledged revision and the position of the
write-ahead log (WAL) that contains it. The writer process overwrites it around each commit, so a start can distinguish
a WAL that ends early, because it was truncated or damaged, from one that ends where the last acknowledged commit ended.
``verification`` holds the rules.

The record is written twice in one ``pwrite`` of less than a disk sector, which tolerates one damaged copy. It is not
flushed with each commit: after SIGKILL the page cache has it, after power loss it may lag behind the flushed WAL, never
the other way round in a way that matters (a record that lags only weakens the check).

This module is also loaded by the writer process, which imports only the standard library.
"""

from __future__ import annotations

import os
import struct
import zlib

_MAGIC = b"STRSACK1"
#: Magic, session, previous session, is closed; then the fields that change with each commit.
_HEAD = struct.Struct("<8sQQQ")
_TAIL = struct.Struct("<QQQQI8s")
_BODY_BYTES = _HEAD.size + _TAIL.size
_CHECKSUM = struct.Struct("<I")
_COPY_BYTES = _BODY_BYTES + _CHECKSUM.size
#: Size of both copies.
RECORD_BYTES = 2 * _COPY_BYTES

#: Revisions reserved in the database before any of them is used; see ``reserved_revision`` in ``schema``.
RESERVED_STEP = 1 << 20

_HEAD_BITS = 32
_HEAD_MASK = (1 << 31) - 1
#: Layout of a fingerprint of rows: the sum of their revisions above their number, modulo 2**63.
FINGERPRINT_MASK = (1 << 63) - 1
COUNT_BITS = 24

#: Header size of ``<store>-shm`` (https://sqlite.org/walformat.html#the_wal_index_file_format).
_SHM_HEADER_BYTES = 48
_SHM_FRAMES = struct.Struct("=16xI")
_SHM_SALTS = slice(32, 40)


def ack_path(store: str) -> str:
    """Return the path of the acknowledgement record of a store file."""
    return f"{store}-ack"


def head_checksum(key: str, mod_revision: int, create_revision: int, lease_id: int) -> int:
    """Return the checksum of all columns of a row except the value, 31 bits."""
    return zlib.crc32(f"{key}\0{mod_revision},{create_revision},{lease_id}".encode(errors="surrogatepass")) & _HEAD_MASK


def row_checksum(key: str, mod_revision: int, create_revision: int, lease_id: int, value: bytes) -> int:
    """Return the checksum of a row: that of its head in the high bits, that of head and value in the low bits."""
    head = head_checksum(key, mod_revision, create_revision, lease_id)
    return head << _HEAD_BITS | zlib.crc32(value, head)


def head_of(checksum: int) -> int:
    """Return the head's part of a row's checksum."""
    return checksum >> _HEAD_BITS


def fingerprint_of(rows: int, revisions: int) -> int:
    """Return the fingerprint of a number of rows with this sum of revisions."""
    return ((revisions << COUNT_BITS) + rows) & FINGERPRINT_MASK


class WalPosition:
    """Position in the write-ahead log: number of valid frames, and the salts of its current generation."""

    __slots__ = ("frames", "salts")

    def __init__(self, frames: int = 0, salts: bytes = bytes(8)) -> None:
        self.frames = frames
        self.salts = salts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WalPosition) and (self.frames, self.salts) == (other.frames, other.salts)

    __hash__ = None  # type: ignore[assignment]


class WalIndex:
    """Reader of the WAL position in the shared-memory file of SQLite's connections.

    Closing any descriptor of that file drops this process's POSIX locks on it, SQLite's included: close it only after
    all connections of the process are closed.
    """

    def __init__(self, store: str) -> None:
        """Open the file; a connection of this process must have read the database before. Raises ``OSError``."""
        self._fd = os.open(f"{store}-shm", os.O_RDONLY | os.O_CLOEXEC)

    def position(self) -> WalPosition:
        header = os.pread(self._fd, _SHM_HEADER_BYTES, 0)
        if len(header) < _SHM_HEADER_BYTES:
            return WalPosition()
        return WalPosition(_SHM_FRAMES.unpack_from(header)[0], header[_SHM_SALTS])

    def close(self) -> None:
        os.close(self._fd)


class AckRecord:
    """Acknowledged state of a store, and the session (one opening of the store) that it belongs to."""

    __slots__ = (
        "fingerprint",
        "is_closed",
        "next_fingerprint",
        "next_revision",
        "previous_session",
        "revision",
        "session",
        "wal",
    )

    def __init__(
        self,
        *,
        session: int,
        previous_session: int,
        revision: int,
        fingerprint: int,
        is_closed: bool = False,
        next_revision: int = 0,
        next_fingerprint: int = 0,
        wal: WalPosition | None = None,
    ) -> None:
        self.session = session
        #: Identifies the state of the database until the session's first commit.
        self.previous_session = previous_session
        self.is_closed = is_closed
        self.revision = revision
        #: Fingerprint of all rows at ``revision``.
        self.fingerprint = fingerprint
        #: Commit in flight, which may be in the WAL without being acknowledged.
        self.next_revision = next_revision
        self.next_fingerprint = next_fingerprint
        self.wal = wal or WalPosition()

    def encode(self) -> bytes:
        wal = self.wal
        body = _HEAD.pack(_MAGIC, self.session, self.previous_session, self.is_closed) + _TAIL.pack(
            self.revision, self.fingerprint, self.next_revision, self.next_fingerprint, wal.frames, wal.salts
        )
        copy = body + _CHECKSUM.pack(zlib.crc32(body))
        return copy + copy

    @classmethod
    def decode(cls, data: bytes) -> AckRecord | None:
        """Return the record; None if both copies are damaged."""
        copies = [_decode_copy(data[start : start + _COPY_BYTES]) for start in (0, _COPY_BYTES)]
        return max(filter(None, copies), key=lambda copy: copy.revision, default=None)


def _decode_copy(data: bytes) -> AckRecord | None:
    if len(data) != _COPY_BYTES or zlib.crc32(data[:_BODY_BYTES]) != _CHECKSUM.unpack_from(data, _BODY_BYTES)[0]:
        return None
    magic, session, previous_session, is_closed = _HEAD.unpack_from(data)
    revision, fingerprint, next_revision, next_fingerprint, frames, salts = _TAIL.unpack_from(data, _HEAD.size)
    if magic != _MAGIC:
        return None
    return AckRecord(
        session=session,
        previous_session=previous_session,
        revision=revision,
        fingerprint=fingerprint,
        is_closed=bool(is_closed),
        next_revision=next_revision,
        next_fingerprint=next_fingerprint,
        wal=WalPosition(frames, salts),
    )


class AckFile:
    """Open file of the record."""

    def __init__(self, store: str, *, create: bool = False) -> None:
        """Raises ``OSError``."""
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        self._fd = os.open(ack_path(store), flags, 0o600)

    def read(self) -> AckRecord | None:
        return AckRecord.decode(os.pread(self._fd, RECORD_BYTES, 0))

    def write(self, record: AckRecord) -> None:
        os.pwrite(self._fd, record.encode(), 0)

    def sync(self) -> None:
        os.fsync(self._fd)

    def close(self) -> None:
        os.close(self._fd)


def read_record(store: str) -> tuple[AckRecord | None, bool]:
    """Return the record of a store (None when it is missing or damaged) and whether its file exists."""
    try:
        file = AckFile(store)
    except FileNotFoundError:
        return None, False
    try:
        return file.read(), True
    finally:
        file.close()


class Acknowledger:
    """Maintains the record of the running session; used by the writer."""

    def __init__(self, store: str) -> None:
        """Open the record; a connection of this process must have read the database before.

        Raises ``OSError``, ``ValueError``.
        """
        self._file = AckFile(store)
        record = self._file.read()
        if record is None:
            raise ValueError(f"{ack_path(store)} is damaged")
        self._wal_index = WalIndex(store)
        self.record = record
        #: True if the file was written since its last flush.
        self.is_dirty = False

    def begin(self, revision: int, fingerprint: int) -> None:
        """Record the commit that is about to start. Raises ``OSError``."""
        self.record.next_revision = revision
        self.record.next_fingerprint = fingerprint
        self._write()

    def acknowledge(self, revision: int) -> None:
        """Record that a commit is durable; it leads to ``revision``, 0 when it changed no key. Raises ``OSError``."""
        record = self.record
        if revision:
            record.revision = revision
            record.fingerprint = record.next_fingerprint
        position = self._wal_index.position()
        is_new_generation = position.salts != record.wal.salts
        record.wal = position
        self._write()
        if is_new_generation:  # the record must not lag by a whole generation of the log
            self.sync()

    def close_session(self) -> None:
        """Record that the database is complete without its log. Raises ``OSError``."""
        self.record.is_closed = True
        self._write()
        self.sync()

    def sync(self) -> None:
        self._file.sync()
        self.is_dirty = False

    def close(self) -> None:
        """Close the files; all connections of this process to the database must be closed, see ``WalIndex``."""
        self._file.close()
        self._wal_index.close()

    def _write(self) -> None:
        self._file.write(self.record)
        self.is_dirty = True
