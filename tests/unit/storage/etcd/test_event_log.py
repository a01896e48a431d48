from __future__ import annotations

from steersman.storage.etcd.event_log import events_of
from steersman.storage.etcd.keyspace import KeySpace
from steersman.storage.etcd.messages import Header, StoredKey, WatchEvent, WatchResponse
from steersman.storage.store import Event

KEYS = KeySpace(root="/registry", prefix="/registry")


def response(*events):
    return WatchResponse(Header(), False, False, 0, "", list(events))


def put(key, value, created, modified):
    return WatchEvent(StoredKey(key, value, created, modified, 1, 0), False, 0)


def test_events_have_the_stores_keys_and_the_revision_is_the_last():
    deleted = WatchEvent(StoredKey(b"/registry/b", b"", 0, 9, 0, 0), True, 4)
    revision, events = events_of(response(put(b"/registry/a", b"1", 8, 8), deleted), KEYS)
    assert revision == 9
    assert events == [Event("/registry/a", b"1", 8, 8), Event("/registry/b", None, 4, 9)]


def test_keys_of_others_advance_the_revision_and_are_reported():
    foreign = []
    revision, events = events_of(
        response(put(b"compact_rev_key", b"5", 2, 7)), KEYS, lambda key, value: foreign.append((key, value))
    )
    assert (revision, events, foreign) == (7, [], [(b"compact_rev_key", b"5")])
