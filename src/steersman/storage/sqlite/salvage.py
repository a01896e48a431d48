"""Offline check, backup and repair of store files.

``inspect`` reports all damage; ``repair`` writes the readable contents into a new file, whose revisions start above every
revision that may have been used, and moves the damaged files aside; ``back_up`` copies a store, which may be open.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.storage.sqlite.ack_record import (
    RESERVED_STEP,
    WalIndex,
    WalPosition,
    ack_path,
    fingerprint_of,
    read_record,
    row_checksum,
)
from steersman.storage.sqlite.batches import POSITION_BITS, REACHED
from steersman.storage.sqlite.database import connect_reader, connect_writer, open_error, schema_version
from steersman.storage.sqlite.errors import CorruptStore, NotAStore, StoreNotWritable, WritesMissing
from steersman.storage.sqlite.schema import CHECKED_SCHEMA, MIGRATIONS, REVISION_MAX
from steersman.storage.sqlite.verification import check_main_file, read_session, verify_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SESSION_BITS = 62
_PROBLEMS_MAX = 100
_ROW = "SELECT id, key, mod_revision, create_revision, lease_id, value, checksum FROM latest"

_Row = tuple[int, str, int, int, int, bytes, int]


class Report(msgspec.Struct):
    """Result of a check."""

    schema: int = 0
    revision: int = 0
    keys: int = 0
    history_rows: int = 0
    problems: list[str] = []
    #: Keys whose stored bytes are damaged.
    corrupt_keys: list[str] = []

    @property
    def is_sound(self) -> bool:
        return not self.problems and not self.corrupt_keys


def inspect(path: Path, *, decode: Callable[[str, bytes], str] | None = None) -> Report:
    """Check a store offline: record, structure, checksums, revisions. Read-only.

    ``decode`` returns the problem of a key's value, "" for none. Raises ``StoreError`` for a file that is not a store.
    """
    report = Report()
    record, exists = read_record(str(path))
    if exists and record is None:
        report.problems.append(f"{ack_path(str(path))} is damaged")
    if not path.exists():
        raise StoreNotWritable(path, "no such file")
    try:
        check_main_file(path, record)
        with closing(connect_reader(path)) as connection:
            report.schema = schema_version(connection, path, newest=len(MIGRATIONS))
            if report.schema >= CHECKED_SCHEMA:
                _inspect_start(report, path, connection)
            _inspect_structure(report, connection)
            _inspect_rows(report, connection, decode)
            _inspect_history(report, connection)
    except sqlite3.Error as error:
        damage = open_error(path, error)
        if isinstance(damage, NotAStore):
            raise damage from error
        report.problems.append(str(error))
    except (WritesMissing, CorruptStore) as finding:
        report.problems.append(str(finding))
    except (ValueError, TypeError) as mismatch:  # a value has another type than when written
        report.problems.append(f"the tables are damaged: {mismatch}")
    return report


def _inspect_start(report: Report, path: Path, connection: sqlite3.Connection) -> None:
    try:
        verify_start(path, read_session(connection), _wal_position(path))
    except (WritesMissing, CorruptStore) as error:
        report.problems.append(str(error))


def _wal_position(path: Path) -> WalPosition:
    try:
        wal_index = WalIndex(str(path))
    except FileNotFoundError:  # the file is not in WAL mode
        return WalPosition()
    try:
        return wal_index.position()
    finally:
        # Safe with an open connection: the caller holds the lock of the store and only reads.
        wal_index.close()


def _inspect_structure(report: Report, connection: sqlite3.Connection) -> None:
    messages = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_PROBLEMS_MAX})")]
    if messages != ["ok"]:
        report.problems += [str(text) for text in messages]


def _inspect_rows(report: Report, connection: sqlite3.Connection, decode: Callable[[str, bytes], str] | None) -> None:
    columns = "*" if report.schema >= CHECKED_SCHEMA else "*, NULL"
    revisions = 0
    report.revision = connection.execute(REACHED).fetchone()[0] or 0
    for row in connection.execute(f"SELECT {columns} FROM latest ORDER BY id"):  # noqa: S608 — constants only
        row_id, key, mod, create, _lease, value, checksum = row
        report.keys += 1
        revisions += mod
        if checksum is not None and not is_intact(row):
            report.corrupt_keys.append(key)
        elif not create <= mod <= report.revision or row_id >> POSITION_BITS != create:
            report.problems.append(f"{key}: revisions {create} (created) and {mod} (changed) do not fit")
        elif decode is not None and (problem := decode(key, value)):
            report.problems.append(f"{key}: {problem}")
    if report.schema >= CHECKED_SCHEMA:
        session = read_session(connection)
        if session.is_closed and session.fingerprint not in (None, fingerprint_of(report.keys, revisions)):
            report.problems.append("rows are missing, or older than they were")


def _inspect_history(report: Report, connection: sqlite3.Connection) -> None:
    columns = "checksum" if report.schema >= CHECKED_SCHEMA else "NULL"
    sql = f"SELECT id, key, mod_revision, create_revision, lease_id, value, {columns} FROM history ORDER BY id"  # noqa: S608 — as above
    for row in connection.execute(sql):
        report.history_rows += 1
        if row[6] is not None and not is_intact(row):
            report.problems.append(f"{row[1]}: its state before revision {row[0] >> POSITION_BITS} is damaged")
        elif row[2] > row[0] >> POSITION_BITS or row[0] >> POSITION_BITS > report.revision:
            report.problems.append(f"{row[1]}: revision {row[0] >> POSITION_BITS} of the history does not fit")


def is_intact(row: tuple[Any, ...]) -> bool:
    """Report whether a row of ``latest`` or ``history`` matches its checksum."""
    _, key, mod, create, lease, value, checksum = row
    return (
        isinstance(key, str)
        and isinstance(value, bytes)
        and all(isinstance(number, int) for number in (mod, create, lease))
        and bool(checksum == row_checksum(key, mod, create, lease, value))
    )


# Copying.


def back_up(path: Path, target: Path) -> int:
    """Copy a store, which may be open, as of one revision; return the revision. The copy needs no log.

    Raises ``StoreError``, ``OSError``.
    """
    if target.exists():
        raise FileExistsError(17, "the file exists already", str(target))
    partial = target.with_name(f"{target.name}.partial")
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
    try:
        with closing(connect_reader(path)) as source, closing(sqlite3.connect(partial, isolation_level=None)) as copy:
            if schema_version(source, path, newest=len(MIGRATIONS)) < CHECKED_SCHEMA:
                raise StoreNotWritable(path, "it is of an older schema; start the server once to bring it up to date")
            source.backup(copy)
            rows, revisions = copy.execute("SELECT count(*), coalesce(sum(mod_revision), 0) FROM latest").fetchone()
            copy.execute(
                "UPDATE session SET id = ?, is_closed = 1, fingerprint = ?, is_backup = 1",
                (secrets.randbits(_SESSION_BITS) + 1, fingerprint_of(rows, revisions)),
            )
            revision: int = copy.execute(REACHED).fetchone()[0]
        _sync(partial)
        partial.rename(target)
        _sync(target.absolute().parent)
    except sqlite3.Error as error:
        raise open_error(path, error) from error
    finally:
        partial.unlink(missing_ok=True)
    return revision


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# Repairing.


class Salvage(msgspec.Struct):
    """Readable contents of a damaged store, and the damage."""

    rows: list[_Row] = []
    leases: list[tuple[int, int, float]] = []
    #: Upper bound of used revisions, as far as known.
    used_revision: int = 0
    #: Revision of the readable state.
    revision: int = 0
    #: Last acknowledged revision; 0: unknown.
    acknowledged_revision: int = 0
    #: Keys that exist but cannot be read.
    lost_keys: list[str] = []
    problems: list[str] = []


def salvage(path: Path) -> Salvage:
    """Read all readable contents from copies with and without the log; return the larger result. Raises ``StoreError``."""
    if not path.exists():
        raise StoreNotWritable(path, "no such file")
    salvages: list[Salvage] = []
    with tempfile.TemporaryDirectory(prefix="repair-", dir=path.parent) as folder:
        for suffixes in (("", "-wal"), ("",)):
            copy = Path(folder) / f"{len(salvages)}.db"
            for suffix in suffixes:
                part = path.with_name(path.name + suffix)
                if part.exists():
                    shutil.copyfile(part, copy.with_name(copy.name + suffix))
            salvages.append(_salvage_copy(path, copy))
            if not copy.with_name(copy.name + "-wal").exists() and len(suffixes) > 1:
                break  # no log existed
    best = max(salvages, key=lambda one: (not one.problems, one.revision, len(one.rows)))
    record, exists = read_record(str(path))
    if record is not None:
        best.acknowledged_revision = record.revision
    elif exists:
        best.problems.append(f"{ack_path(str(path))} is damaged: it cannot be told what was acknowledged")
    revisions = [one.used_revision for one in salvages]
    revisions += [] if record is None else [record.revision, record.next_revision]
    best.used_revision = max((revision for revision in revisions if revision <= REVISION_MAX // 2), default=0)
    return best


def _salvage_copy(path: Path, copy: Path) -> Salvage:
    result = Salvage()
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            if schema_version(connection, path, newest=len(MIGRATIONS)) < CHECKED_SCHEMA:
                raise StoreNotWritable(path, "it is of an older schema, which has no checksums")
            _salvage_tables(result, connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        result.problems.append(str(error))
    return result


def _salvage_tables(result: Salvage, connection: sqlite3.Connection) -> None:
    result.problems += [
        str(row[0]).replace("\n", " ") for row in connection.execute("PRAGMA integrity_check(10)") if row[0] != "ok"
    ]
    result.revision = _number(result, connection, REACHED)
    result.used_revision = max(
        result.revision, _number(result, connection, "SELECT max(reserved_revision) FROM session")
    )
    rows: dict[str, _Row] = {}
    seen: set[str] = set()
    for row in _walk(connection, result.problems):
        if isinstance(row[1], str):
            seen.add(row[1])
        if is_intact(row) and (row[1] not in rows or rows[row[1]][2] < row[2]):
            rows[row[1]] = row
    result.rows = sorted(rows.values(), key=lambda row: row[0])
    try:
        seen.update(key for (key,) in connection.execute("SELECT key FROM latest INDEXED BY sqlite_autoindex_latest_1"))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        result.problems.append(f"the index of keys cannot be read: {error}")
    result.lost_keys = sorted(seen - rows.keys())
    try:
        leases = connection.execute("SELECT id, ttl_seconds, remaining_seconds FROM lease").fetchall()
        result.leases = [row for row in leases if all(isinstance(number, (int, float)) for number in row)]
    except sqlite3.Error as fault:
        result.problems.append(f"leases cannot be read: {fault}")


def _number(result: Salvage, connection: sqlite3.Connection, sql: str) -> int:
    try:
        number = connection.execute(sql).fetchone()[0]
    except sqlite3.Error as error:
        result.problems.append(str(error))
        return 0
    return number if isinstance(number, int) else 0


def _walk(connection: sqlite3.Connection, problems: list[str]) -> Iterator[_Row]:
    """Read the rows from both ends: rows behind an unreadable page are reachable from the other end."""
    for order in ("ASC", "DESC"):
        try:
            yield from connection.execute(f"{_ROW} ORDER BY id {order}")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            problems.append(f"rows cannot be read: {error}")
            continue
        return


def repair(path: Path, salvaged: Salvage, *, suffix: str) -> int:
    """Replace the damaged file by a new one with the salvaged contents; rename the old one with ``suffix``.

    The history is empty; the new revision, which is returned, was never used before. Raises ``StoreError``,
    ``OSError``.
    """
    revision = salvaged.used_revision + RESERVED_STEP
    new = path.with_name(f"{path.name}.repaired")
    for leftover in (new, new.with_name(f"{new.name}-wal"), new.with_name(f"{new.name}-shm")):
        leftover.unlink(missing_ok=True)
    try:
        with closing(connect_writer(new)) as connection:
            _fill(connection, salvaged, revision)
    except sqlite3.Error as error:
        raise StoreNotWritable(new, str(error)) from error
    _sync(new)
    for part in ("", "-wal", "-shm", "-ack"):
        damaged = path.with_name(path.name + part)
        if damaged.exists():
            damaged.rename(path.with_name(f"{path.name}{suffix}{part}"))
    new.rename(path)
    _sync(path.absolute().parent)
    return revision


def _fill(connection: sqlite3.Connection, salvaged: Salvage, revision: int) -> None:
    leases = {lease[0] for lease in salvaged.leases}
    connection.execute("BEGIN IMMEDIATE")
    for row_id, key, mod, create, lease, value, _ in salvaged.rows:
        attached = lease if lease in leases else 0
        connection.execute(
            "INSERT INTO latest VALUES (?, ?, ?, ?, ?, ?, ?)",
            (row_id, key, mod, create, attached, value, row_checksum(key, mod, create, attached, value)),
        )
    connection.executemany("INSERT INTO lease VALUES (?, ?, ?)", salvaged.leases)
    connection.execute("UPDATE mark SET revision = ?", (revision,))
    fingerprint = fingerprint_of(len(salvaged.rows), sum(row[2] for row in salvaged.rows))
    connection.execute(
        "UPDATE session SET id = ?, is_closed = 1, fingerprint = ?, reserved_revision = ?, is_backup = 0",
        (secrets.randbits(_SESSION_BITS) + 1, fingerprint, revision + RESERVED_STEP),
    )
    connection.execute("COMMIT")
