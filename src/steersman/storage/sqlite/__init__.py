"""Embedded store: one SQLite file in WAL mode, one writer (a process or a thread), group commit.

Path of a write: ``store`` (event loop) checks the expectations against an index in memory, assigns the revision and
queues the rows; ``pipeline`` collects them while the previous batch is being written; ``writer`` sends them to
``batches``, in a process or a thread, which makes them durable with one fsync; on the loop the watchers are called in
revision order, then the callers are resumed. Rationale: ``docs/decisions/0001``.
"""

from steersman.storage.sqlite.errors import (
    CorruptStore,
    NotAStore,
    SchemaTooNew,
    StoreLocked,
    StoreNotWritable,
    WritesMissing,
)
from steersman.storage.sqlite.store import SqliteStore

__all__ = [
    "CorruptStore",
    "NotAStore",
    "SchemaTooNew",
    "SqliteStore",
    "StoreLocked",
    "StoreNotWritable",
    "WritesMissing",
]
