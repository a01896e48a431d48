"""Reads of the database file. All methods block: small reads run on the event loop, others in a thread.

SQLite releases and reacquires the GIL for every returned row, and a thread may wait for a busy loop each time
(``gil_release``). So a page of rows is returned as one row, with the columns as JSON and the values joined into blobs.
"""

# ruff: noqa: S608 — SQL is composed of constants of this module

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec

from steersman.storage.keys import prefix_end
from steersman.storage.sqlite.ack_record import fingerprint_of, head_checksum, head_of, row_checksum
from steersman.storage.sqlite.batches import POSITION_BITS, REACHED
from steersman.storage.sqlite.index import Entry
from steersman.storage.store import CorruptValue, Event, KeyValue, Range

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.storage.sqlite.index import Index


#: Value that sorts after every text: end of an unbounded range.
_NO_END = b""
#: Bounds of a page, which is decoded under the GIL in one step: rows, and approximate bytes of joined values.
_PAGE_ROWS = 250
_BLOB_BYTES = 1 << 18
_INDEX_PAGE_ROWS = 5000
#: Bounds of one step of a catch-up, which runs on the event loop: writes, and approximate bytes.
_CATCH_UP_ROWS = 300
_CATCH_UP_BYTES = 1 << 20

_PRESENT = (
    "SELECT key, mod_revision, create_revision, lease_id, value, checksum FROM latest WHERE key >= :low AND key < :high"
)
#: State at ``:at``: unchanged rows, and replaced rows that were current at that revision.
_PAST = f"""
{_PRESENT} AND mod_revision <= :at
UNION ALL
SELECT key, mod_revision, create_revision, lease_id, value, checksum FROM history
WHERE key >= :low AND key < :high AND id >= :after_id AND mod_revision <= :at
"""
_PRESENT_COUNT = "SELECT count(*) FROM latest WHERE key >= :low AND key < :high"
#: Count at ``:at``, derived from the current count, which needs no scan: subtract keys created since, and correct for keys
#: changed since. (The plus signs disable the index on keys: the rows written since are fewer than the whole range.)
_PAST_COUNT = f"""
WITH since AS (SELECT key, mod_revision FROM history WHERE id >= :after_id AND +key >= :low AND +key < :high)
SELECT ({_PRESENT_COUNT})
  - (SELECT count(*) FROM latest WHERE id >= :after_id AND +key >= :low AND +key < :high)
  + (SELECT count(*) FROM since WHERE mod_revision <= :at)
  - (SELECT count(*) FROM latest WHERE key IN (SELECT key FROM since) AND +id < :after_id)
"""
_HEADS = """
SELECT json_group_array(json_array(key, mod_revision, create_revision, lease_id, length(value), checksum))
FROM ({rows} ORDER BY key LIMIT :rows)
"""
_VALUES = "SELECT CAST(group_concat(CAST(value AS TEXT), '') AS BLOB) FROM ({rows} ORDER BY key)"

#: Revisions and approximate sizes of the events of a window: changes and deletions, creations of unchanged keys, and creations
#: of keys changed since.
_EVENTS = (
    f"SELECT id >> {POSITION_BITS}, length(value) FROM history WHERE id >= :first AND id < :end ORDER BY id LIMIT :rows",
    f"SELECT id >> {POSITION_BITS}, length(value) FROM latest WHERE id >= :first AND id < :end ORDER BY id LIMIT :rows",
    """SELECT mod_revision, length(value) FROM history INDEXED BY history_of_made
    WHERE mod_revision = create_revision AND mod_revision > :after AND mod_revision <= :upto
    ORDER BY mod_revision LIMIT :rows""",
)
#: Events of a window. The value is in the history row of the key's next write, or in ``latest``; if it is in neither, the key
#: is squashed and the value lost. (The plus signs keep SQLite from scanning the window by key.)
_WRITES = f"""
WITH changed AS (
  SELECT id, key, removed, create_revision, id >> {POSITION_BITS} AS revision,
    (SELECT h.id FROM history AS h WHERE h.key = w.key AND h.id > w.id ORDER BY h.id LIMIT 1) AS next_id
  FROM history AS w WHERE id >= :first AND id < :end AND +key >= :low AND +key < :high
)
SELECT key, create_revision, revision, NULL, 0, 0 FROM changed WHERE removed
UNION ALL
SELECT n.key, n.create_revision, n.mod_revision, n.value, n.lease_id, n.checksum FROM changed AS w JOIN history AS n ON n.id = w.next_id
  WHERE NOT w.removed AND n.mod_revision = w.revision
UNION ALL
SELECT l.key, l.create_revision, l.mod_revision, l.value, l.lease_id, l.checksum FROM changed AS w JOIN latest AS l ON l.key = w.key
  WHERE NOT w.removed AND w.next_id IS NULL AND l.mod_revision = w.revision
UNION ALL
SELECT key, create_revision, mod_revision, value, lease_id, checksum FROM latest
  WHERE id >= :first AND id < :end AND mod_revision = create_revision AND +key >= :low AND +key < :high
UNION ALL
SELECT key, create_revision, mod_revision, value, lease_id, checksum FROM history INDEXED BY history_of_made
  WHERE mod_revision = create_revision AND mod_revision > :after AND mod_revision <= :upto
  AND +key >= :low AND +key < :high
"""
_SQUASHED = """
SELECT key, create_revision, mod_revision, value, lease_id, checksum FROM latest
WHERE key >= :low AND key < :high AND mod_revision > :after AND mod_revision <= :upto
"""

_Head = tuple[str, int, int, int, int, int]
_heads = msgspec.json.Decoder(list[_Head])


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """A range, and the revision of the file."""

    kvs: list[KeyValue]
    count: int
    revision: int


class Reader:
    """One reading connection. Must not be used by two threads at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        #: Number of pages read, for ``reader_threads``.
        self.pages_read = 0

    def close(self) -> None:
        self._connection.close()

    def get(self, key: str) -> KeyValue | None:
        """Return a key. Raises ``CorruptValue``."""
        row = self._connection.execute(
            "SELECT mod_revision, create_revision, lease_id, value, checksum FROM latest WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        if not _is_intact((key, row[0], row[1], row[2], 0, row[4]), row[3]):
            raise CorruptValue([key])
        return KeyValue(key, row[3], row[1], row[0], row[2])

    def get_at(self, key: str, *, revision: int) -> KeyValue | None:
        kvs = self.range(key, high=key + "\0", revision=revision, limit=1, index={}).kvs
        return kvs[0] if kvs else None

    def range(
        self,
        low: str,
        *,
        high: str | bytes,
        index: Mapping[str, Entry],
        limit: int = 0,
        revision: int = 0,
        keys_only: bool = False,
    ) -> Snapshot:
        """Read the keys from ``low`` up to ``high`` as of ``revision`` (0: now).

        Raises ``CorruptValue`` for damaged rows, with all intact ones.
        """
        rows = _PAST if revision else _PRESENT
        bounds = {"low": low, "high": high, "at": revision, "after_id": (revision + 1) << POSITION_BITS}
        self._connection.execute("BEGIN")
        try:
            at = self._number(REACHED)
            count = self._number(_PAST_COUNT if revision else _PRESENT_COUNT, bounds)
            page_size = min(limit or count, count)
            kvs, corrupt = self._pages(rows, bounds, page_size=page_size, index=index, keys_only=keys_only)
        finally:
            self._connection.execute("COMMIT")
        if corrupt:
            raise CorruptValue(corrupt, Range(kvs, at, more=count > len(kvs) + len(corrupt), count=count))
        return Snapshot(kvs, count, at)

    def _pages(
        self, rows: str, bounds: Mapping[str, object], *, page_size: int, index: Mapping[str, Entry], keys_only: bool
    ) -> tuple[list[KeyValue], list[str]]:
        """Return the intact rows, and the keys of damaged ones."""
        kvs: list[KeyValue] = []
        corrupt: list[str] = []
        low = bounds["low"]
        while len(kvs) + len(corrupt) < page_size:
            page = {**bounds, "low": low, "rows": min(_PAGE_ROWS, page_size - len(kvs) - len(corrupt))}
            heads = _heads.decode(self._connection.execute(_HEADS.format(rows=rows), page).fetchone()[0])
            if not heads:
                break  # history is being deleted concurrently; the caller detects it
            for chunk in [heads] if keys_only else _chunks(heads):
                values = [b""] * len(chunk) if keys_only else self._values(rows, bounds, chunk)
                self.pages_read += 1
                for head, value in zip(chunk, values, strict=True):
                    if keys_only or _is_intact(head, value):
                        kvs.append(_key_value(head, value, index.get(head[0])))
                    else:
                        corrupt.append(head[0])
            low = heads[-1][0] + "\0"
        return kvs, corrupt

    def _values(self, rows: str, bounds: Mapping[str, object], heads: list[_Head]) -> list[bytes]:
        chunk = {**bounds, "low": heads[0][0], "high": heads[-1][0] + "\0"}
        blob = self._connection.execute(_VALUES.format(rows=rows), chunk).fetchone()[0] or b""
        values = _cut(blob, [head[4] for head in heads])
        if values is None:  # SQLite before 3.39 truncates joined text at the first NUL
            records = self._connection.execute(f"SELECT value FROM ({rows} ORDER BY key)", chunk).fetchall()
            values = [value for (value,) in records]
            values += [b""] * (len(heads) - len(values))  # rows of the page that this read misses are damaged
        return values[: len(heads)]

    def _number(self, sql: str, parameters: Mapping[str, object] | Sequence[object] = ()) -> int:
        number: int | None = self._connection.execute(sql, parameters).fetchone()[0]
        return number or 0

    # Starting up.

    def marks(self) -> tuple[int, int]:
        """Return the current and the compact revision."""
        return self._number(REACHED), self._number("SELECT revision FROM mark WHERE name = 'compacted'")

    def load(self) -> tuple[Index, int]:
        """Return the index of all keys, and the fingerprint of all rows. Raises ``ValueError`` for damaged rows."""
        sql = (
            "SELECT json_group_array(json_array(key, mod_revision, create_revision, lease_id, checksum)), max(id), count(*)"
            " FROM (SELECT * FROM latest WHERE id > ? ORDER BY id LIMIT ?)"
        )
        decode = msgspec.json.Decoder(list[tuple[str, int, int, int, int]]).decode
        index: Index = {}
        rows = revisions = 0
        last: int | None = -1
        while last is not None:
            page, last, count = self._connection.execute(sql, (last, _INDEX_PAGE_ROWS)).fetchone()
            rows += count
            for key, mod, create, lease, checksum in decode(page):
                if head_of(checksum) != head_checksum(key, mod, create, lease):
                    raise ValueError(f"the row of {key!r} does not match its checksum")
                revisions += mod
                index[key] = Entry(key, mod, mod if mod == create else create, lease)
        if rows != len(index) or rows != self._count_indexed(index):
            raise ValueError("the table of keys and its index differ")
        return index, fingerprint_of(rows, revisions)

    def _count_indexed(self, index: Index) -> int:
        """Count the keys that SQLite finds by name; a key whose index entry differs from the table is not found."""
        sql = (
            "SELECT json_group_array(json_array(key, id)), max(key) FROM (SELECT key, id FROM latest"
            " INDEXED BY sqlite_autoindex_latest_1 WHERE key > ? ORDER BY key LIMIT ?)"
        )
        decode = msgspec.json.Decoder(list[tuple[str, int]]).decode
        last: str | None = ""
        count = 0
        while last is not None:
            page, last = self._connection.execute(sql, (last, _INDEX_PAGE_ROWS)).fetchone()
            for key, row_id in decode(page):
                entry = index.get(key)
                count += entry is not None and entry.create_revision == row_id >> POSITION_BITS
        return count

    def leases(self) -> list[tuple[int, int, float]]:
        """Return id, TTL and remaining time of each lease, in seconds."""
        return self._connection.execute("SELECT id, ttl_seconds, remaining_seconds FROM lease").fetchall()

    # History.

    def catch_up(
        self, prefix: str, *, after: int, upto: int, squashed: Sequence[str], index: Mapping[str, Entry]
    ) -> tuple[list[Event], int]:
        """Return events under ``prefix`` after revision ``after``, of whole revisions, up to the bound of one read.

        Also returns the revision that they lead to, ``upto`` at most.
        """
        upto = self._window(after, upto)
        low, high = prefix, prefix_end(prefix) or _NO_END
        window = {"low": low, "high": high, **_window(after, upto)}
        writes = self._connection.execute(_WRITES, window).fetchall()
        for other in squashed:
            if other.startswith(prefix) or prefix.startswith(other):
                inner = max(prefix, other, key=len)
                window = {"low": inner, "high": prefix_end(inner) or _NO_END, "after": after, "upto": upto}
                writes += self._connection.execute(_SQUASHED, window).fetchall()
        corrupt = sorted({row[0] for row in writes if not _is_event_intact(row)})
        if corrupt:
            raise CorruptValue(corrupt)
        unique = {(revision, key): (create, value) for key, create, revision, value, _, _ in writes}
        events = [
            Event(entry.key if (entry := index.get(key)) else key, value, create, revision)
            for (revision, key), (create, value) in sorted(unique.items(), key=lambda item: item[0])
        ]
        return events, upto

    def _window(self, after: int, upto: int) -> int:
        """Return the end of one catch-up step.

        ``upto``, or less when bounded by rows or bytes, but at least one revision.
        """
        for events in _EVENTS:
            bounds = {**_window(after, upto), "rows": _CATCH_UP_ROWS}
            upto = _end_of_piece(self._connection.execute(events, bounds).fetchall(), upto)
        return upto

    def history_bytes(self) -> int:
        """Return the approximate size of the history."""
        return self._number(
            "SELECT (SELECT bytes_total FROM history ORDER BY id DESC LIMIT 1)"
            " - (SELECT bytes_total FROM history ORDER BY id LIMIT 1)"
        )

    def excess_revision(self, *, bytes_max: int) -> int:
        """Return the revision to compact to so that the history is at most ``bytes_max``; linear in the excess."""
        row = self._number(
            "SELECT id FROM history WHERE bytes_total >="
            " (SELECT bytes_total FROM history ORDER BY id DESC LIMIT 1) - ? ORDER BY id LIMIT 1",
            (bytes_max,),
        )
        return max(0, (row >> POSITION_BITS) - 1)


def _window(after: int, upto: int) -> dict[str, int]:
    """Return the query parameters of a window of revisions, as revisions and as row ids."""
    return {"after": after, "upto": upto, "first": (after + 1) << POSITION_BITS, "end": (upto + 1) << POSITION_BITS}


def _end_of_piece(events: list[tuple[int, int | None]], upto: int) -> int:
    """Return the revision that bounds one step, given events (revision and size) in order."""
    size_bytes = 0
    for number, (revision, length) in enumerate(events, 1):
        size_bytes += length or 0
        if number == _CATCH_UP_ROWS or size_bytes >= _CATCH_UP_BYTES:
            return revision
    return upto


def _chunks(heads: list[_Head]) -> Iterable[list[_Head]]:
    """Return groups whose values are small enough to be joined."""
    first, size_bytes = 0, 0
    for end, head in enumerate(heads, 1):
        size_bytes += head[4]
        if size_bytes >= _BLOB_BYTES or end == len(heads):
            yield heads[first:end]
            first, size_bytes = end, 0


def _cut(blob: bytes, lengths: list[int]) -> list[bytes] | None:
    """Split joined values; None when some are missing."""
    ends = list(itertools.accumulate(lengths))
    if ends[-1] != len(blob):
        return None
    return [blob[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def _key_value(head: _Head, value: bytes, entry: Entry | None) -> KeyValue:
    key, mod, create, lease, _, _ = head
    return KeyValue(key if entry is None else entry.key, value, create, mod, lease)


def _is_intact(head: _Head, value: bytes) -> bool:
    key, mod, create, lease, _, checksum = head
    return type(value) is bytes and checksum == row_checksum(key, mod, create, lease, value)


def _is_event_intact(row: tuple[str, int, int, bytes | None, int, int]) -> bool:
    key, create, mod, value, lease, checksum = row
    return value is None or _is_intact((key, mod, create, lease, 0, checksum), value)
