"""Verification at start: are all acknowledged writes in the file and its write-ahead log (WAL)?

SQLite silently ends its log at the first frame that is not valid, and starts without a log that is missing. So a start compares
the recovered state with the acknowledgement record (``ack_record``) before any change:

===============================================  ==================================================================
found                                            result
===============================================  ==================================================================
file closed in order, complete without a log     open; the fingerprint of all rows must be the one stored at the end
log reaches the recorded position                open; as above when the revision is one that the record knows, else
                                                 (the record lags after power loss) check the whole structure
log ends earlier or is missing, but the file     open after a check of the whole structure; the past is forgotten
holds the recorded revision and fingerprint
record missing or of another state of the file   refuse
revision below the recorded one                  refuse
===============================================  ==================================================================

A refusal names the missing writes and the next step, ``repair``.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import msgspec

from steersman.storage.sqlite.ack_record import AckRecord, WalPosition, ack_path, read_record
from steersman.storage.sqlite.batches import REACHED
from steersman.storage.sqlite.errors import CorruptStore, WritesMissing

if TYPE_CHECKING:
    from pathlib import Path

_SALT_BYTES = 4
#: The first salt of a log is incremented at each restart; a later log's salt is larger by less than this.
_GENERATIONS_MAX = 1 << 31
_SALT_END = 1 << 32


class Session(msgspec.Struct, frozen=True):
    """Row of the table ``session``, and the revision of the file with its log."""

    session: int
    is_closed: bool
    #: None: unknown.
    fingerprint: int | None
    reserved_revision: int
    is_backup: bool
    revision: int


class Verdict(msgspec.Struct, frozen=True):
    """Result of the verification: how the file may be opened."""

    #: Fingerprint of all rows; None when unknown.
    fingerprint: int | None = None
    #: The structure of the whole file must be checked, which is slow.
    needs_check: bool = False
    #: The history may be incomplete.
    drops_history: bool = False
    #: The counter must jump ahead of this revision, as another copy of the file may have used more; 0: no jump.
    jump_from: int = 0


def read_session(connection: sqlite3.Connection) -> Session:
    """Read the session row of the file. Raises ``sqlite3.Error``, ``ValueError``."""
    rows = connection.execute("SELECT id, is_closed, fingerprint, reserved_revision, is_backup FROM session").fetchall()
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} rows in the table session")
    revision = connection.execute(REACHED).fetchone()[0]
    session, is_closed, fingerprint, reserved, is_backup = rows[0]
    return msgspec.convert(
        {
            "session": session,
            "is_closed": bool(is_closed),
            "fingerprint": fingerprint,
            "reserved_revision": reserved,
            "is_backup": bool(is_backup),
            "revision": revision,
        },
        Session,
    )


def verify_start(path: Path, session: Session, wal: WalPosition) -> Verdict:
    """Compare the file with its record. Raises ``WritesMissing``."""
    record, exists = read_record(str(path))
    return verify_session(path, session, record, wal, is_record_damaged=exists and record is None)


def verify_session(
    path: Path, session: Session, record: AckRecord | None, wal: WalPosition, *, is_record_damaged: bool = False
) -> Verdict:
    """Apply the rules of the module docstring. Raises ``WritesMissing``."""
    if session.is_backup:
        used = max(session.revision, session.reserved_revision, 0 if record is None else record.revision)
        return Verdict(session.fingerprint, needs_check=True, jump_from=used)
    if record is None:
        if session.is_closed:
            return Verdict(session.fingerprint)
        state = "damaged" if is_record_damaged else "missing"
        raise WritesMissing(path, f"its record of acknowledged writes ({ack_path(str(path))}) is {state}")
    if session.session not in (record.session, record.previous_session):
        return _verify_foreign_record(path, session, record)
    if session.revision < record.revision:
        reason = (
            f"{path}-wal is missing, cut short or damaged" if not session.is_closed else "it is older than its record"
        )
        raise WritesMissing(path, reason, first=session.revision + 1, last=record.revision)
    expected = _expected_fingerprint(session, record)
    if session.is_closed:
        return Verdict(expected if expected is not None else session.fingerprint)
    if record.is_closed and session.session == record.session:
        return _verify_short_log(path, session, record)
    if _reaches(wal, record.wal):
        return Verdict(expected, needs_check=expected is None)
    return _verify_short_log(path, session, record)


def _verify_foreign_record(path: Path, session: Session, record: AckRecord) -> Verdict:
    """Verify a file whose record belongs to another session: one of the two was copied or restored."""
    if session.revision < record.revision:
        raise WritesMissing(
            path,
            f"it is older than its record of acknowledged writes ({ack_path(str(path))})",
            first=session.revision + 1,
            last=record.revision,
        )
    if session.is_closed:
        return Verdict(session.fingerprint)
    raise WritesMissing(path, f"its record of acknowledged writes ({ack_path(str(path))}) is of another session")


def _verify_short_log(path: Path, session: Session, record: AckRecord) -> Verdict:
    """Verify a file without the end of its log, which may still be complete."""
    if session.revision == record.revision:
        return Verdict(record.fingerprint, needs_check=True, drops_history=True)
    raise WritesMissing(
        path, f"{path}-wal is missing, cut short or damaged", first=record.revision + 1, last=record.revision
    )


def _expected_fingerprint(session: Session, record: AckRecord) -> int | None:
    if session.revision == record.revision:
        return record.fingerprint
    return record.next_fingerprint if session.revision == record.next_revision else None


def _reaches(wal: WalPosition, recorded: WalPosition) -> bool:
    """Report whether a log contains the recorded position, or was restarted after all of it had been checkpointed."""
    if not recorded.frames:
        return True
    if wal.salts == recorded.salts:
        return wal.frames >= recorded.frames
    generations = _first_salt(wal) - _first_salt(recorded)
    return wal.frames > 0 and 0 < generations % _SALT_END < _GENERATIONS_MAX


def _first_salt(wal: WalPosition) -> int:
    return int.from_bytes(wal.salts[:_SALT_BYTES], "big")


def check_main_file(path: Path, record: AckRecord | None) -> None:
    """Reject a log that belongs to another file, which SQLite would apply. Call before SQLite reads the log.

    The session that started a log is stored in the database itself. Raises ``WritesMissing``, ``CorruptStore``.
    """
    wal = path.with_name(path.name + "-wal")
    if not wal.exists() or not wal.stat().st_size or record is None:
        return
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            row = connection.execute("SELECT id, is_backup FROM session").fetchone()
        finally:
            connection.close()
    except sqlite3.Error:
        return  # the tables may be in the log only, or damaged, which the next reader detects
    if row is None or row[0] in (record.session, record.previous_session):
        return
    raise WritesMissing(
        path,
        f"{wal} belongs to another state of the file (was a backup restored? Then remove {wal.name}, {path.name}-shm and "
        f"{path.name}-ack)",
    )


def check_structure(connection: sqlite3.Connection, path: Path) -> None:
    """Check the whole file's structure. Raises ``CorruptStore``, ``sqlite3.Error``."""
    result = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if result != "ok":
        raise CorruptStore(path, str(result).replace("\n", " "))
