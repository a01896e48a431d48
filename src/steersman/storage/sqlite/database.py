"""Opening of the database file: validation, setup, migration, and mapping of errors."""

from __future__ import annotations

import os
import secrets
import sqlite3
from typing import TYPE_CHECKING

from steersman.storage.sqlite import batches
from steersman.storage.sqlite.ack_record import (
    RESERVED_STEP,
    AckFile,
    AckRecord,
    WalIndex,
    read_record,
    row_checksum,
)
from steersman.storage.sqlite.errors import CorruptStore, NotAStore, SchemaTooNew, StoreNotWritable, WritesMissing
from steersman.storage.sqlite.schema import APPLICATION_ID, CHECKED_SCHEMA, MIGRATIONS
from steersman.storage.sqlite.verification import check_main_file

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.storage.store import StoreError

_SESSION_BITS = 62
#: Increment of the revision counter when the revisions used by another copy of the file are unknown.
UNKNOWN_JUMP = 1 << 30
#: Bound for locks held by external tools; the store's own connections never wait for one.
_BUSY_SECONDS = 5.0


def connect_writer(path: Path, *, migrations: tuple[str, ...] = MIGRATIONS) -> sqlite3.Connection:
    """Open a connection for writing; create or migrate the tables. Raises the classes of ``errors``."""
    try:
        if not path.exists():
            # The file contains Secrets; SQLite creates its log with the same permissions. (Not when it exists: closing a
            # descriptor of
            # a file drops the locks that other connections of this process have on it.)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = batches.connect(str(path))
    except OSError as refusal:
        raise StoreNotWritable(path, refusal.strerror or str(refusal)) from refusal
    except sqlite3.Error as error:
        raise open_error(path, error) from error
    try:
        version = schema_version(connection, path, newest=len(migrations))
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        _migrate(connection, version, migrations)
    except sqlite3.Error as error:
        connection.close()
        raise open_error(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a read-only connection, which may move between threads."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA query_only=ON")
    return connection


def schema_version(connection: sqlite3.Connection, path: Path, *, newest: int) -> int:
    """Return the schema version of the file, 0 for a new one. Read-only."""
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application_id != APPLICATION_ID:
        if tables or version or application_id:
            raise NotAStore(path, "a database of some other program")
        return 0
    if version > newest:
        raise SchemaTooNew(path, stored=version, supported=newest)
    return version


def _migrate(connection: sqlite3.Connection, version: int, migrations: tuple[str, ...]) -> None:
    """Migrate the tables in one transaction: a crash leaves the old schema."""
    if version == len(migrations):
        return
    connection.create_function("row_checksum", 5, row_checksum, deterministic=True)
    steps = "".join(migrations[version:])
    connection.executescript(
        f"BEGIN IMMEDIATE;{steps}PRAGMA application_id={APPLICATION_ID};PRAGMA user_version={len(migrations)};COMMIT;"
    )


def prepare(path: Path) -> None:
    """Create or migrate the file if necessary; leave a current file unchanged.

    Raises the classes of ``errors``, ``sqlite3.Error``.
    """
    if path.is_dir():
        raise StoreNotWritable(path, "it is a directory")
    record, has_record = read_record(str(path))
    if not path.exists() or not path.stat().st_size:
        if record is not None and record.revision:
            raise WritesMissing(path, "the file is missing or empty", first=1, last=record.revision)
    else:
        check_main_file(path, record)
        connection = connect_reader(path)
        try:
            version = schema_version(connection, path, newest=len(MIGRATIONS))
            is_wal = connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        finally:
            connection.close()
        if version == len(MIGRATIONS) and is_wal:
            return
        if has_record and version < CHECKED_SCHEMA:
            raise CorruptStore(path, f"its schema number is {version}, but it has a record of acknowledged writes")
    connect_writer(path).close()


def begin_session(
    connection: sqlite3.Connection,
    path: Path,
    wal_index: WalIndex,
    *,
    revision: int,
    fingerprint: int,
    drop_history: bool = False,
) -> None:
    """Mark the file as open, in the database and in a new acknowledgement record.

    The record is flushed first. It also names the state before the session, so that a crash between the two leaves a
    consistent pair. Raises ``sqlite3.Error``, ``OSError``.
    """
    previous, reserved = connection.execute("SELECT id, reserved_revision FROM session").fetchone()
    record_file = AckFile(str(path), create=True)
    try:
        record = AckRecord(
            session=secrets.randbits(_SESSION_BITS) + 1,
            previous_session=previous,
            revision=revision,
            fingerprint=fingerprint,
            wal=wal_index.position(),
        )
        record_file.write(record)
        record_file.sync()
        _sync_folder(path)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "UPDATE session SET id = ?, is_closed = 0, fingerprint = NULL, reserved_revision = ?, is_backup = 0",
            (record.session, max(reserved, revision + RESERVED_STEP)),
        )
        if drop_history:
            connection.execute("DELETE FROM history")
            connection.execute("UPDATE mark SET revision = ?", (revision,))
        connection.execute("COMMIT")
        # The session and the reserved revisions must be known without the log.
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        record.wal = wal_index.position()
        record_file.write(record)
        record_file.sync()
    finally:
        record_file.close()


def _sync_folder(path: Path) -> None:
    """Make the directory entry of a new file durable."""
    fd = os.open(path.absolute().parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def open_error(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the store error for an SQLite error of opening."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return NotAStore(path, "not a database")
    if code == sqlite3.SQLITE_CORRUPT:
        return CorruptStore(path, str(error))
    return StoreNotWritable(path, str(error))
