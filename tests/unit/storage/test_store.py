from __future__ import annotations

import pytest

from steersman.storage import store
from steersman.storage.store import Compacted, Conflict, CorruptValue, FutureRevision, KeyValue, StoreError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Conflict("/a", KeyValue("/a", b"secret", 1, 7)), "/a: is at revision 7"),
        (Conflict("/a", None), "/a: is at revision none (absent)"),
        (Compacted(3, 9), "revision 3 has been compacted, the oldest kept is 9"),
        (CorruptValue(["/a", "/b"]), "the stored data of /a, /b does not match its checksum"),
        (FutureRevision(9, 3), "revision 9 is in the future, the store is at 3"),
    ],
)
def test_errors_contain_requested_and_current_state(error, message):
    assert str(error) == message


def test_errors_share_one_base_class():
    errors = [kind for kind in vars(store).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert {store.Conflict, store.Compacted, store.Unavailable, store.CorruptValue, store.TooLarge} <= set(errors)
    assert all(issubclass(kind, StoreError) for kind in errors)


@pytest.mark.interpreted
def test_records_are_frozen():
    kv = KeyValue("/a", b"1", 1, 1)
    with pytest.raises(AttributeError):
        kv.value = b"2"
