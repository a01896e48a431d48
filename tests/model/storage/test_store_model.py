"""Random histories against a model that is simpler than any store: a list of states, one per revision."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.conformance.storage.etcd_body import EtcdBody

from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Check, Compacted, Conflict, Delete, KeyValue, Put

KEYS = ["/a/1", "/a/2", "/a/b/1", "/a!", "/b/1", "/b/ä"]
PREFIXES = ["/", "/a/", "/a", "/a/b/", "/b/", "/none/"]
WATCHED = [prefix for prefix in PREFIXES if prefix.endswith("/")]
SQUASHED = "/b/"

keys = st.sampled_from(KEYS)
values = st.sampled_from([b"", b"1", b"\0\xff", b"long" * 2000])
expectations = st.sampled_from(["any", "absent", "current", "stale"])
operations = st.lists(
    st.tuples(st.sampled_from(["put", "put", "delete", "check"]), keys, values, expectations),
    min_size=1,
    max_size=4,
    unique_by=lambda op: op[1],
)


class Model:
    """``states[r]`` is the whole store as of revision ``r``."""

    def __init__(self, *, shares_revision=False):
        self.shares_revision = shares_revision
        self.states = [{}]
        self.events = []
        self.overwritten = 0

    @property
    def now(self):
        return self.states[-1]

    @property
    def revision(self):
        return len(self.states) - 1

    def under(self, prefix, revision):
        return [kv for key, kv in sorted(self.states[revision].items()) if key.startswith(prefix)]

    def apply(self, ops):
        """Return the key of the first op whose condition fails; None if all were applied."""
        for op in ops:
            before = self.now.get(op.key)
            if op.expected is not None and op.expected != (before.mod_revision if before else 0):
                return op.key
        first = self.revision + 1
        for op in ops:
            is_first = self.revision < first
            revision = self.revision + 1 if is_first or not self.shares_revision else first
            state, before = dict(self.now), self.now.get(op.key)
            if isinstance(op, Put):
                state[op.key] = KeyValue(op.key, op.value, before.create_revision if before else revision, revision)
                self.events.append((op.key, op.value, revision))
                if op.key.startswith(SQUASHED) and before:
                    self.overwritten = revision
            elif isinstance(op, Delete) and before:
                del state[op.key]
                self.events.append((op.key, None, revision))
            else:
                continue
            if revision > self.revision:
                self.states.append(state)
            else:
                self.states[-1] = state
        return None

    def events_after(self, revision, prefix):
        return [event for event in self.events if event[0].startswith(prefix) and event[2] > revision]

    def kept_events_after(self, revision, prefix):
        """Return the events that a watch from the past must receive: of squashed keys only the last."""
        events = self.events_after(revision, prefix)
        last = {key: at for key, _, at in events}
        return [event for event in events if not event[0].startswith(SQUASHED) or event[2] == last[event[0]]]


class StoreMachine(RuleBasedStateMachine):
    #: Heartbeats leave no history; transactions that are sent at once are decided in that order.
    squashes = decides_in_order = True
    shares_revision = False

    def __init__(self):
        super().__init__()
        self.loop = self.new_loop()
        self.folder = Path(tempfile.mkdtemp(prefix="store-model-"))
        self.clock = FakeClock()
        self.model = Model(shares_revision=self.shares_revision)
        self.compacted = 0
        self.store = None
        self.watches = []

    def new_loop(self):
        return asyncio.new_event_loop()

    def end_loop(self):
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()

    def run(self, coroutine):
        return self.loop.run_until_complete(coroutine)

    async def open(self):
        raise NotImplementedError

    @initialize()
    def start(self):
        self.store = self.run(self.open())

    def teardown(self):
        if self.store is not None:
            self.run(self.store.close())
        self.end_loop()
        shutil.rmtree(self.folder)

    def op(self, kind, key, value, expectation):
        current = self.model.now.get(key)
        revision = current.mod_revision if current else 0
        expected = {"any": None, "absent": 0, "current": revision, "stale": max(0, revision - 1)}[expectation]
        if kind == "check":
            return Check(key, expected or 0)
        return Put(key, value, expected) if kind == "put" else Delete(key, expected)

    def outcome(self, error):
        return (error.key, error.current) if isinstance(error, Conflict) else error

    @rule(described=operations)
    def transaction(self, described):
        ops = [self.op(*description) for description in described]
        conflict = self.model.apply(ops)
        expected = self.model.revision if conflict is None else (conflict, self.model.now.get(conflict))
        assert self.outcome(self.run(attempt(self.store.txn(ops)))) == expected

    @precondition(lambda self: self.decides_in_order)
    @rule(batch=st.lists(operations, min_size=2, max_size=6))
    def transactions_at_once(self, batch):
        """Run transactions that are decided in the order of their start, so that the model can follow."""

        async def all_at_once():
            return await asyncio.gather(*(self.store.txn(ops) for ops in chosen), return_exceptions=True)

        chosen, conflicts = [], []
        for described in batch:
            ops = [self.op(*description) for description in described]
            chosen.append(ops)
            conflicts.append(self.model.apply(ops))
        outcomes = self.run(all_at_once())
        assert [isinstance(outcome, Conflict) for outcome in outcomes] == [key is not None for key in conflicts]

    @rule(
        prefix=st.sampled_from(PREFIXES),
        age=st.integers(0, 12),
        limit=st.integers(0, 3),
        after=st.sampled_from(["", *KEYS]),
    )
    def read_range(self, prefix, age, limit, after):
        revision = max(1, self.model.revision - age) if age and self.model.revision else 0
        answer = self.run(attempt(self.store.range(prefix, revision=revision, limit=limit, start_after=after)))
        if revision and revision < self.oldest(prefix):
            assert isinstance(answer, Compacted)
            assert answer.compact_revision >= self.oldest(prefix)
            return
        if isinstance(answer, Compacted):
            assert answer.compact_revision > revision
            assert self.may_forget_more(prefix)
            return
        expected = [kv for kv in self.model.under(prefix, revision or self.model.revision) if kv.key > after]
        assert answer.kvs == (expected[:limit] if limit else expected)
        assert (answer.count, answer.revision) == (len(expected), self.model.revision)
        assert answer.more == (len(expected) > len(answer.kvs))

    @rule(key=keys, age=st.integers(0, 12))
    def read_key(self, key, age):
        revision = max(1, self.model.revision - age) if age and self.model.revision else 0
        answer = self.run(attempt(self.store.get(key, revision=revision)))
        if isinstance(answer, Compacted):
            assert revision < self.oldest(key) or self.may_forget_more(key)
            return
        assert answer == self.model.states[revision or -1].get(key)

    @rule(prefix=st.sampled_from(WATCHED), age=st.integers(0, 12))
    def watch(self, prefix, age):
        after = max(0, self.model.revision - age)
        batches = []
        outcome = self.run(
            attempt(self.store.watch(prefix, batches.append, after_revision=after, on_lost=lambda _error: None))
        )
        if after < self.compacted:
            assert isinstance(outcome, Compacted)
            return
        events = flat(batches)
        assert is_between(self.model.kept_events_after(after, prefix), events, self.model.events_after(after, prefix))
        assert [batch.revision for batch in batches] == sorted({batch.revision for batch in batches})
        self.watches.append((prefix, batches, len(events), self.model.revision))

    @rule(age=st.integers(0, 10))
    @precondition(lambda self: self.model.revision)
    def compact(self, age):
        revision = max(0, self.model.revision - age)
        self.run(self.store.compact(revision))
        self.compacted = max(self.compacted, revision)

    @invariant()
    def revisions_agree(self):
        if self.store is not None:
            assert self.store.revision == self.model.revision
            assert self.store.compact_revision == self.compacted

    @invariant()
    def live_watches_get_every_event(self):
        for prefix, batches, skipped, since in self.watches:
            events, expected = flat(batches)[skipped:], self.model.events_after(since, prefix)
            assert is_between(expected, events, expected)

    def oldest(self, prefix):
        touches = prefix.startswith(SQUASHED) or SQUASHED.startswith(prefix)
        return max(self.compacted, self.model.overwritten if touches and self.squashes else 0)

    def may_forget_more(self, prefix):
        return False


async def attempt(coroutine):
    """Return the result, or the exception that is part of the contract."""
    try:
        return await coroutine
    except (Conflict, Compacted) as error:
        return error


def flat(batches):
    return [(event.key, event.value, event.mod_revision) for batch in batches for event in batch.events]


def is_between(least, events, most):
    """Report whether the events are in order of revision, without repetition, and hold at least and at most these."""
    in_order = [event[2] for event in events] == sorted(event[2] for event in events)
    return in_order and len(set(events)) == len(events) and set(least) <= set(events) <= set(most)


class MemoryMachine(StoreMachine):
    async def open(self):
        return MemoryStore(clock=self.clock, squash_prefixes=[SQUASHED])


class SqliteMachine(StoreMachine):
    reopened_at = 0

    async def open(self):
        return await SqliteStore.open(self.folder / "store.db", clock=self.clock, squash_prefixes=[SQUASHED])

    def may_forget_more(self, prefix):
        """Restart the store, which forgets the history of squashed prefixes."""
        return (prefix.startswith(SQUASHED) or SQUASHED.startswith(prefix)) and self.reopened_at > 0

    @rule()
    def reopen(self):
        self.run(self.store.close())
        self.watches.clear()
        self.store = self.run(self.open())
        self.reopened_at = self.model.revision


SETTINGS = settings(stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class EtcdMachine(StoreMachine):
    squashes = decides_in_order = False
    shares_revision = True
    url = ""
    shared_loop = None

    def new_loop(self):
        """Return one loop for all examples: gRPC hands its events to the loop of their channel, also after the loop's end."""
        return self.shared_loop

    def end_loop(self):
        pass

    async def open(self):
        return await EtcdBody.open(self.url, prefix=f"/{uuid4().hex}:", clock=self.clock)


def test_etcd_store_equals_the_model(etcd_url):
    EtcdMachine.url, EtcdMachine.shared_loop = etcd_url, asyncio.new_event_loop()
    case = EtcdMachine.TestCase
    case.settings = settings(SETTINGS, max_examples=25)
    case().runTest()
    EtcdMachine.shared_loop.close()


@pytest.mark.parametrize(("machine", "examples"), [(MemoryMachine, 60), (SqliteMachine, 30)])
def test_store_equals_the_model(machine, examples):
    case = machine.TestCase
    case.settings = settings(SETTINGS, max_examples=examples)
    case().runTest()
