"""The embedded store: one SQLite file in WAL mode, one process that writes, group commit.

How a write goes: ``store`` (event loop) checks the expectations against an index in memory, assigns the revision and
queues the rows; ``pipeline`` gathers them while the batch before is at work, ``writer`` sends them to a process that
runs ``batches`` and makes them durable with one fsync; back on the loop the watchers are called in revision order and the
callers answered. Why: ``docs/decisions/0001``.
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
