"""The tables of the file, and how they came to be.

``latest`` holds each key's present row, numbered by the write that made the key. ``history`` is an undo log: one row for each
write that put something out of its place, with what that was; read backwards it leads to every revision that is kept. A
row is never needed once its write is older than what may be read (compaction only ever takes rows off the old end), and the
present needs no history at all. A new key puts nothing out of its place: it is one row in ``latest``, and that it was made is
read from there or, when it was changed since, from the first row that it left in ``history``.

The id of a row is ``revision << POSITION_BITS``, of the write that made the key (``latest``) or changed it (``history``): in
older files writes of a transaction shared their revision, and the bits told them apart.

The writer inserts rows into the view ``change``; the triggers put them where they belong. So a batch needs one statement
only, whatever its rows do.
"""

# ruff: noqa: S608 — SQL is put together from the constants of this module only

from __future__ import annotations

import enum

from steersman.storage.sqlite.batches import POSITION_BITS

#: "Strs", in the file's header: this SQLite file is one of ours.
APPLICATION_ID = 0x53747273
#: So many keys can one transaction write.
POSITIONS_MAX = 1 << POSITION_BITS
#: Larger revisions do not fit into the ids of rows.
REVISION_MAX = (1 << (63 - POSITION_BITS)) - 1
#: Counted per history row besides its value.
ROW_BYTES = 200


class Kind(enum.IntEnum):
    """What a row of ``change`` does."""

    #: Only says which revision the file is at. The last row of a batch whose newest write leaves no row that tells.
    REACHED = 1
    CREATED = 2
    REPLACED = 3
    #: Replaced without leaving history (squashed prefixes).
    OVERWRITTEN = 4
    REMOVED = 5


#: Moves the key's present row into the history. Each trigger does all that its kind needs: SQLite does not say in which
#: order several triggers of one row run.
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
#: What the writer inserts into, but for the trigger of new keys.
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

#: Rows of ``latest`` are numbered by the making of their keys, and that leaves no row in the history any more.
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

#: Every row carries a checksum, and the session (one opening of the store) that changed the file last is named in it.
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

#: ``MIGRATIONS[n]`` leads from schema ``n`` (``PRAGMA user_version``) to ``n + 1``. Entries are never changed once
#: released, only added.
MIGRATIONS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD)
#: The first schema whose files carry checksums and have an acknowledgement record.
CHECKED_SCHEMA = 3
