"""Opening the file: what it must be, how it is set up, and what each failure is called."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from steersman.storage.sqlite import batches
from steersman.storage.sqlite.errors import CorruptStore, NotAStore, SchemaTooNew, StoreNotWritable
from steersman.storage.sqlite.schema import APPLICATION_ID, MIGRATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.storage.store import StoreError

#: A reader of ours never waits for a lock, except that a foreign tool may hold one for a moment.
_BUSY_SECONDS = 5.0


def connect_writer(path: Path, *, migrations: tuple[str, ...] = MIGRATIONS) -> sqlite3.Connection:
    """A connection that writes; makes or migrates the tables. Raises the classes of ``errors``."""
    try:
        # It holds Secrets; SQLite gives its log the same permissions.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = batches.connect(str(path))
    except OSError as error:
        raise StoreNotWritable(path, error.strerror or str(error)) from error
    except sqlite3.Error as error:
        raise open_error(path, error) from error
    try:
        version = _schema_version(connection, path, known=len(migrations))
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
    """A connection that only reads; it may be handed from thread to thread."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA query_only=ON")
    return connection


def _schema_version(connection: sqlite3.Connection, path: Path, *, known: int) -> int:
    """The schema that the file has, 0 for a new one. Only reads."""
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application_id != APPLICATION_ID:
        if tables or version or application_id:
            raise NotAStore(path, "a database of some other program")
        return 0
    if version > known:
        raise SchemaTooNew(path, found=version, known=known)
    return version


def _migrate(connection: sqlite3.Connection, version: int, migrations: tuple[str, ...]) -> None:
    """Bring the tables up to date, in one transaction: a crash on the way leaves the old schema."""
    if version == len(migrations):
        return
    steps = "".join(migrations[version:])
    connection.executescript(
        f"BEGIN IMMEDIATE;{steps}PRAGMA application_id={APPLICATION_ID};PRAGMA user_version={len(migrations)};COMMIT;"
    )


def open_error(path: Path, error: sqlite3.Error) -> StoreError:
    """The class that says what an error of opening means."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return NotAStore(path, "not a database")
    if code == sqlite3.SQLITE_CORRUPT:
        return CorruptStore(path, str(error))
    return StoreNotWritable(path, str(error))
