from __future__ import annotations

from steersman.storage.dispatch import Dispatcher, Watcher
from steersman.storage.store import Event, Unavailable


def watch(dispatcher, prefix, *, after_revision=0):
    batches, lost = [], []
    watcher = Watcher(dispatcher, prefix, sink=batches.append, after_revision=after_revision, on_lost=lost.append)
    dispatcher.add(watcher)
    return watcher, batches, lost


def event(key, revision):
    return Event(key, b"", revision, revision)


def test_deliver_sends_an_event_to_watchers_of_its_ancestors():
    dispatcher = Dispatcher()
    outer, inner, other = (watch(dispatcher, prefix)[1] for prefix in ("/a/", "/a/b/", "/a/c/"))
    dispatcher.deliver([event("/a/b/x", 1), event("/a/x", 2)], revision=2)
    assert [[e.key for b in batches for e in b.events] for batches in (outer, inner, other)] == [
        ["/a/b/x", "/a/x"],
        ["/a/b/x"],
        [],
    ]
    assert inner[0].revision == 2


def test_add_and_forget_take_effect_at_once():
    dispatcher = Dispatcher()
    first, early, _ = watch(dispatcher, "/a/")
    dispatcher.deliver([event("/a/b/x", 1)], revision=1)
    late = watch(dispatcher, "/a/b/", after_revision=1)[1]
    dispatcher.deliver([event("/a/b/x", 2)], revision=2)
    first.close()
    dispatcher.deliver([event("/a/b/x", 3)], revision=3)
    assert [batch.revision for batch in early] == [1, 2]
    assert [batch.revision for batch in late] == [2, 3]


def test_send_skips_delivered_events():
    dispatcher = Dispatcher()
    watcher, batches, _ = watch(dispatcher, "/a/", after_revision=2)
    dispatcher.deliver([event("/a/x", 2), event("/a/y", 3)], revision=3)
    watcher.send([event("/a/y", 3)], revision=3)
    assert [e.key for b in batches for e in b.events] == ["/a/y"]


def test_forget_removes_empty_entries():
    dispatcher = Dispatcher()
    first, *_ = watch(dispatcher, "/a/")
    second, *_ = watch(dispatcher, "/a/")
    first.close()
    assert len(dispatcher) == 1
    second.close()
    second.close()
    assert len(dispatcher) == 0
    assert dispatcher._by_prefix == {}


def test_watcher_closed_by_another_sink_receives_no_event():
    dispatcher = Dispatcher()
    victims = []
    killer = Watcher(dispatcher, "/a/", sink=lambda _: victims[0].close(), after_revision=0, on_lost=lambda _: None)
    dispatcher.add(killer)
    watcher, batches, lost = watch(dispatcher, "/a/")
    victims.append(watcher)
    dispatcher.deliver([event("/a/x", 1)], revision=1)
    assert (batches, lost) == ([], [])


def test_close_notifies_every_watcher_once():
    dispatcher = Dispatcher()
    _, _, first = watch(dispatcher, "/a/")
    _, _, second = watch(dispatcher, "/b/")
    dispatcher.close(Unavailable("over"))
    dispatcher.close(Unavailable("over"))
    assert [len(first), len(second), len(dispatcher)] == [1, 1, 0]


def test_exception_of_on_lost_is_logged(caplog):
    def on_lost(_error):
        raise RuntimeError("a bug")

    dispatcher = Dispatcher()
    dispatcher.add(Watcher(dispatcher, "/a/", sink=print, after_revision=0, on_lost=on_lost))
    _, _, lost = watch(dispatcher, "/a/")
    dispatcher.close(Unavailable("over"))
    assert len(lost) == 1
    assert "a bug" in caplog.text
