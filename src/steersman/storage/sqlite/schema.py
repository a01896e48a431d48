"""Database schema and its migrations.

``latest`` holds each key's current row, numbered by the write that created the key. ``history`` is an undo log: one row
with the replaced state for each write that replaced one; undoing rows from the newest backwards reconstructs every
retained revision. A row is not needed once its write is compacted (compaction only removes the oldest rows), and
current reads need no history. Creating a key replaces nothing: the creation is read from ``latest`` or, if the key was
changed since, from its first row in ``history``.

Row ids are ``revision << POSITION_BITS`` of the write that created (``latest``) or changed (``history``) the key; in
older files the writes of a transaction share their revision, and the low bits distinguish them.

The writer inserts rows into the view ``change``, whose triggers update the tables. So a batch needs a single statement
for all kinds of rows.
"""

# ruff: noqa: S608 — SQL is composed of constants of this module

from __future__ import annotations

import enum

from steersman.storage.sqlite.batches import POSITION_BITS

#: "Strs", SQLite's ``application_id`` of store files.
APPLICATION_ID = 0x53747273
#: Maximal number of keys written by one transaction.
POSITIONS_MAX = 1 << POSITION_BITS
#: Maximal revision that fits into row ids.
REVISION_MAX = (1 << (63 - POSITION_BITS)) - 1
#: Size of a history row without its value, for accounting.
ROW_BYTES = 200


class Kind(enum.IntEnum):
    """Kind of a row of ``change``."""

    #: Mark of the file's revision: last row of a batch whose newest write leaves no row.
    REACHED = 1
    CREATED = 2
    REPLACED = 3
    #: Replaced without leaving history (squashed prefixes).
    OVERWRITTEN = 4
    REMOVED = 5


#: Moves the key's current row into the history. One trigger per kind: SQLite does not define the order of several
#: triggers of one row.
_DISPLACE = f"""
  INSERT INTO history
    SELECT NEW.id, key, NEW.kind = {Kind.REMOVED:d}, mod_revision, create_revision, lease_id,
      coalesce((SELECT bytes_total FROM history ORDER BY id DESC LIMIT 1), 0) + {ROW_BYTES} + length(value), value
    FROM latest WHERE key = NEW.key;
"""
_UPDATE = f"""
  UPDATE latest SET mod_revision = NEW.id >> {POSITION_BITS}, lease_id = NEW.lease_id, value = NEW.value
    WHERE key = NEW.key;
"""

_LATEST = """
CREATE TABLE latest (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  mod_revision INTEGER NOT NULL,
  create_revision INTEGER NOT NULL,
  lease_id INTEGER NOT NULL,
  value BLOB NOT NULL
);
"""
#: View for the writer's inserts, without the trigger for new keys.
_VIEW = f"""
CREATE VIEW change (kind, id, key, create_revision, lease_id, value) AS SELECT NULL, NULL, NULL, NULL, NULL, NULL;

CREATE TRIGGER reached INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.REACHED:d} BEGIN
  UPDATE mark SET revision = NEW.id >> {POSITION_BITS} WHERE name = 'reached';
END;
CREATE TRIGGER replaced INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.REPLACED:d} BEGIN
  {_DISPLACE}
  {_UPDATE}
END;
CREATE TRIGGER overwritten INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.OVERWRITTEN:d} BEGIN
  {_UPDATE}
END;
CREATE TRIGGER removed INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.REMOVED:d} BEGIN
  {_DISPLACE}
  DELETE FROM latest WHERE key = NEW.key;
END;
"""

_FIRST = f"""
{_LATEST}CREATE TABLE history (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  removed INTEGER NOT NULL,
  mod_revision INTEGER NOT NULL,     -- of the row put out of its place; 0: the key did not exist
  create_revision INTEGER NOT NULL,
  lease_id INTEGER NOT NULL,
  bytes_total INTEGER NOT NULL,      -- running total of the table's size, so that two rows tell what lies between
  value BLOB
);
CREATE INDEX history_by_key ON history (key, id);
CREATE TABLE lease (
  id INTEGER PRIMARY KEY,
  ttl_seconds INTEGER NOT NULL,
  remaining_seconds REAL NOT NULL    -- when last written; what a lease gets after a restart
);
CREATE TABLE mark (name TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO mark VALUES ('reached', 0), ('compacted', 0);

{_VIEW}
CREATE TRIGGER created INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.CREATED:d} BEGIN
  INSERT INTO history VALUES (NEW.id, NEW.key, 0, 0, 0, 0,
    coalesce((SELECT bytes_total FROM history ORDER BY id DESC LIMIT 1), 0) + {ROW_BYTES}, NULL);
  INSERT INTO latest (key, mod_revision, create_revision, lease_id, value)
    VALUES (NEW.key, NEW.id >> {POSITION_BITS}, NEW.create_revision, NEW.lease_id, NEW.value);
END;
"""

#: Rows of ``latest`` are numbered by the creation of their keys, which no longer adds a history row.
_SECOND = f"""
DROP VIEW change;
ALTER TABLE latest RENAME TO latest_before;
{_LATEST}INSERT INTO latest
  SELECT (create_revision << {POSITION_BITS}) + row_number() OVER (PARTITION BY create_revision ORDER BY id) - 1 AS made,
    key, mod_revision, create_revision, lease_id, value FROM latest_before ORDER BY made;
DROP TABLE latest_before;
DELETE FROM history WHERE mod_revision = 0;
-- the first row that a key left, by the revision that had made the key
CREATE INDEX history_of_made ON history (mod_revision) WHERE mod_revision = create_revision;
{_VIEW}
CREATE TRIGGER created INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.CREATED:d} BEGIN
  INSERT INTO latest VALUES (NEW.id, NEW.key, NEW.id >> {POSITION_BITS}, NEW.create_revision, NEW.lease_id, NEW.value);
END;
"""

#: Every row has a checksum, and the file records the session (one opening of the store) that changed it last.
_DISPLACE_CHECKED = f"""
  INSERT INTO history
    SELECT NEW.id, key, NEW.kind = {Kind.REMOVED:d}, mod_revision, create_revision, lease_id,
      coalesce((SELECT bytes_total FROM history ORDER BY id DESC LIMIT 1), 0) + {ROW_BYTES} + length(value), value, checksum
    FROM latest WHERE key = NEW.key;
"""
_UPDATE_CHECKED = f"""
  UPDATE latest SET mod_revision = NEW.id >> {POSITION_BITS}, lease_id = NEW.lease_id, value = NEW.value,
    checksum = NEW.checksum WHERE key = NEW.key;
"""
_THIRD = f"""
DROP VIEW change;
ALTER TABLE latest ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE history ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
UPDATE latest SET checksum = row_checksum(key, mod_revision, create_revision, lease_id, value);
UPDATE history SET checksum = row_checksum(key, mod_revision, create_revision, lease_id, value);
CREATE TABLE session (
  id INTEGER NOT NULL,
  is_closed INTEGER NOT NULL,          -- the file is complete without its log
  fingerprint INTEGER,                 -- when closed: of all rows of latest; NULL: not known
  reserved_revision INTEGER NOT NULL,  -- no larger revision was ever used
  is_backup INTEGER NOT NULL           -- a copy: the original may have gone on since
);
INSERT INTO session VALUES (0, 1, NULL, 0, 0);
CREATE VIEW change (kind, id, key, create_revision, lease_id, value, checksum)
  AS SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL;

CREATE TRIGGER reached INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.REACHED:d} BEGIN
  UPDATE mark SET revision = NEW.id >> {POSITION_BITS} WHERE name = 'reached';
END;
CREATE TRIGGER created INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.CREATED:d} BEGIN
  INSERT INTO latest VALUES (NEW.id, NEW.key, NEW.id >> {POSITION_BITS}, NEW.create_revision, NEW.lease_id, NEW.value,
    NEW.checksum);
END;
CREATE TRIGGER replaced INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.REPLACED:d} BEGIN
  {_DISPLACE_CHECKED}
  {_UPDATE_CHECKED}
END;
CREATE TRIGGER overwritten INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.OVERWRITTEN:d} BEGIN
  {_UPDATE_CHECKED}
END;
CREATE TRIGGER removed INSTEAD OF INSERT ON change WHEN NEW.kind = {Kind.REMOVED:d} BEGIN
  {_DISPLACE_CHECKED}
  DELETE FROM latest WHERE key = NEW.key;
END;
"""

#: ``MIGRATIONS[n]`` leads from schema ``n`` (``PRAGMA user_version``) to ``n + 1``. Released entries never change.
MIGRATIONS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD)
#: The first schema whose files carry checksums and have an acknowledgement record.
CHECKED_SCHEMA = 3
