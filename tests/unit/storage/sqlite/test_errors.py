from __future__ import annotations

from pathlib import Path

import pytest

from steersman.storage.sqlite.errors import CorruptStore, NotAStore, SchemaTooNew, StoreLocked, StoreNotWritable
from steersman.storage.store import StoreError

PATH = Path("/data/store.db")


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (StoreLocked(PATH, 42), "in use by process 42; stop it"),
        (StoreLocked(PATH, None), "in use by another process"),
        (NotAStore(PATH, "not a database"), "left untouched"),
        (SchemaTooNew(PATH, stored=9, supported=1), "use that release or newer"),
        (CorruptStore(PATH, "malformed"), "restore a backup"),
        (StoreNotWritable(PATH, "read-only"), "check its permissions"),
    ],
)
def test_messages_name_the_file_and_the_next_step(error, advice):
    assert isinstance(error, StoreError)
    assert str(error).startswith("/data/store.db ")
    assert advice in str(error)
