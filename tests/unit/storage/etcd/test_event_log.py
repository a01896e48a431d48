from __future__ import annotations

import asyncio

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.storage.dispatch import Dispatcher, Watcher
from steersman.storage.etcd.client import Client
from steersman.storage.etcd.event_log import EventLog, events_of
from steersman.storage.etcd.keyspace import KeySpace
from steersman.storage.etcd.members import Members, MemberTLS
from steersman.storage.etcd.messages import Header, StoredKey, WatchEvent, WatchResponse
from steersman.storage.store import Compacted, Event

KEYS = KeySpace(root="/registry", prefix="/registry")
CLIENT = Client(Members(["http://127.0.0.1:1"], tls=MemberTLS(), clock=FakeClock()), clock=FakeClock())


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


def log_at(revision):
    """Return a log with a watch, and the errors of the watch."""
    dispatcher, errors = Dispatcher(), []
    log = EventLog(CLIENT, KEYS, dispatcher, clock=FakeClock(), on_foreign=lambda *_: None)
    log.start_at(Header(1, 1, revision))
    dispatcher.add(
        Watcher(dispatcher, "/registry/", sink=lambda _: None, after_revision=revision, on_lost=errors.append)
    )
    return log, errors


def test_answer_at_an_older_revision_ends_all_watches():
    log, errors = log_at(10)
    log.compare(Header(1, 2, 10), log.position)
    assert errors == []
    log.compare(Header(1, 2, 9), log.position)
    assert [type(error) for error in errors] == [Compacted]
    assert log.revision == 9


def test_answer_of_another_cluster_ends_all_watches():
    log, errors = log_at(10)
    log.compare(Header(2, 1, 11), log.position)
    assert [type(error) for error in errors] == [Compacted]
    assert log.revision == 11


def test_answer_to_a_request_from_before_a_restart_is_not_compared():
    log, _ = log_at(10)
    position = log.position
    for _ in range(2):
        log.compare(Header(1, 1, 8), position)
    assert log.restarts == 1


class MalformedStream:
    """Stream of one message that is no ``WatchResponse``."""

    async def read(self):
        return b"\xff"

    def cancel(self):
        pass


@pytest.mark.interpreted
async def test_malformed_message_ends_the_stream_and_not_the_log(monkeypatch):
    clock, opened = FakeClock(), asyncio.Queue()

    async def open_watch(member, request):
        opened.put_nowait(member)
        return MalformedStream()

    client = Client(Members(["http://127.0.0.1:1"], tls=MemberTLS(), clock=clock), clock=clock)
    monkeypatch.setattr(client, "open_watch", open_watch)
    log = EventLog(client, KEYS, Dispatcher(), clock=clock, on_foreign=lambda *_: None)
    log.start_at(Header(1, 1, 10))
    running = asyncio.create_task(log.run())
    await opened.get()
    await clock.advance(1)
    assert not running.done()
    await opened.get()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
