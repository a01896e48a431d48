"""EncryptedStore; the conformance suite of stores runs over it, too."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.storage.encryption.plugin import Plugin

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor
from steersman.storage.encryption.ciphers import AesGcm
from steersman.storage.encryption.kms import EnvelopeTransformer
from steersman.storage.encryption.metrics import EncryptionMetrics
from steersman.storage.encryption.store import UNREADABLE, EncryptedStore
from steersman.storage.encryption.transformers import Identity, PrefixTransformers, ResourceTransformers
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Conflict, Put, Unavailable

SECRETS = "/registry/secrets/"


def resource_of(key):
    return (key.split("/")[2], "") if key.startswith("/registry/") else None


def transformers(*named):
    return ResourceTransformers({("secrets", ""): PrefixTransformers("no matching prefix found", list(named))})


A, B, PLAIN = (b"a:", AesGcm(b"a" * 32)), (b"b:", AesGcm(b"b" * 32)), (b"", Identity())


@pytest.fixture
async def inner():
    store = MemoryStore(clock=FakeClock())
    yield store
    await store.close()


def over(inner, *named, metrics=None, **options):
    metrics = metrics or EncryptionMetrics(FakeClock())
    tasks = Supervisor("test")
    return EncryptedStore(inner, transformers(*named), resource_of=resource_of, tasks=tasks, metrics=metrics, **options)


async def test_values_of_the_resource_are_encrypted_and_others_are_not(inner):
    store = over(inner, A)
    await store.txn([Put(f"{SECRETS}n/a", b"secret"), Put("/registry/pods/n/a", b"pod"), Put("compact_rev_key", b"1")])
    assert (await inner.get(f"{SECRETS}n/a")).value.startswith(b"a:")
    assert (await inner.get("/registry/pods/n/a")).value == b"pod"
    assert (await store.get(f"{SECRETS}n/a")).value == b"secret"
    assert [kv.value for kv in (await store.range("/registry/")).kvs] == [b"pod", b"secret"]


async def test_value_of_another_key_is_stale(inner):
    await over(inner, A).txn([Put(f"{SECRETS}n/a", b"secret")])
    store = over(inner, B, A)
    assert (await store.get(f"{SECRETS}n/a")).is_stale is True
    store.use(transformers(A))
    assert (await store.get(f"{SECRETS}n/a")).is_stale is False


async def test_value_that_no_provider_decrypts_is_present_and_unreadable(inner):
    await inner.txn([Put(f"{SECRETS}n/plain", b"plain text"), Put(f"{SECRETS}n/other", b"a:xxx")])
    store = over(inner, A)
    values = {kv.key: kv.value for kv in (await store.range(SECRETS)).kvs}
    assert values[f"{SECRETS}n/plain"] == UNREADABLE + b"no matching prefix found"
    assert values[f"{SECRETS}n/other"].startswith(UNREADABLE)


async def test_value_that_was_copied_to_another_key_is_unreadable(inner):
    store = over(inner, A)
    await store.txn([Put(f"{SECRETS}n/a", b"secret")])
    copied = (await inner.get(f"{SECRETS}n/a")).value
    await inner.txn([Put(f"{SECRETS}n/b", copied)])
    assert (await store.get(f"{SECRETS}n/b")).value.startswith(UNREADABLE)


async def test_root_of_the_keys_is_authenticated(inner):
    await over(inner, A, root="/other").txn([Put(f"{SECRETS}n/a", b"secret")])
    value = (await inner.get(f"{SECRETS}n/a")).value
    assert A[1].decrypt(value.removeprefix(b"a:"), b"/other/secrets/n/a") == (b"secret", False)
    assert (await over(inner, A).get(f"{SECRETS}n/a")).value.startswith(UNREADABLE)


async def test_conflict_carries_the_plain_value(inner):
    store = over(inner, A)
    await store.txn([Put(f"{SECRETS}n/a", b"secret")])
    with pytest.raises(Conflict) as raised:
        await store.txn([Put(f"{SECRETS}n/a", b"other", expected=0)])
    assert raised.value.current.value == b"secret"


async def test_watch_delivers_plain_values_before_txn_returns(inner):
    store, batches = over(inner, A, PLAIN), []
    watch = await store.watch(SECRETS, batches.append, after_revision=0, on_lost=batches.append)
    await store.txn([Put(f"{SECRETS}n/a", b"secret")])
    await inner.txn([Put(f"{SECRETS}n/b", b"plain")])
    events = [event for batch in batches for event in batch.events]
    assert [(event.value, event.is_stale) for event in events] == [(b"secret", False), (b"plain", True)]
    watch.close()


def envelope(plugin, name="kms"):
    return (f"{name}:".encode(), EnvelopeTransformer(name, plugin, clock=FakeClock()))


async def test_watch_holds_events_back_until_the_plugin_decrypts_their_data_key(inner):
    plugin = Plugin()
    writer = envelope(plugin)
    await writer[1].probe()
    reader = over(inner, envelope(plugin), PLAIN)
    received, done = [], asyncio.Event()

    def sink(batch):
        received.extend(event.value for event in batch.events)
        if len(received) == 3:
            done.set()

    watch = await reader.watch(SECRETS, sink, after_revision=0, on_lost=received.append)
    await over(inner, writer).txn([Put(f"{SECRETS}n/a", b"one")])
    await inner.txn([Put(f"{SECRETS}n/b", b"two")])
    await over(inner, writer).txn([Put(f"{SECRETS}n/c", b"three")])
    assert received == []
    assert (reader.revision, inner.revision) == (0, 3)
    assert await reader.current_revision() == 3  # linearizable: the events have been delivered by then
    assert len(received) == 3
    await done.wait()
    assert received == [b"one", b"two", b"three"]
    assert plugin.calls.count("decrypt") == 1
    watch.close()
    await reader.close()


async def test_watch_is_lost_when_the_plugin_fails(inner):
    plugin = Plugin()
    writer = envelope(plugin)
    await writer[1].probe()
    reader, lost = over(inner, envelope(plugin)), asyncio.get_running_loop().create_future()
    await reader.watch(SECRETS, lambda _: None, after_revision=0, on_lost=lost.set_result)
    plugin.is_down = True
    await over(inner, writer).txn([Put(f"{SECRETS}n/a", b"one")])
    assert isinstance(await lost, Unavailable)
    await reader.close()


async def test_reads_and_writes_are_unavailable_without_the_plugin(inner):
    plugin = Plugin()
    writer = envelope(plugin)
    await writer[1].probe()
    await over(inner, writer).txn([Put(f"{SECRETS}n/a", b"one")])
    plugin.is_down = True
    store = over(inner, envelope(plugin))
    with pytest.raises(Unavailable):
        await store.get(f"{SECRETS}n/a")
    with pytest.raises(Unavailable):
        await store.txn([Put(f"{SECRETS}n/b", b"two")])


async def test_transformations_are_counted_by_resource_type_prefix_and_status(inner):
    metrics = EncryptionMetrics(FakeClock())
    store = over(inner, B, A, PLAIN, metrics=metrics)
    await inner.txn([Put(f"{SECRETS}n/plain", b"{}")])
    await store.txn([Put(f"{SECRETS}n/a", b"secret"), Put("/registry/pods/n/a", b"pod")])
    await store.range("/registry/")
    await inner.txn([Put(f"{SECRETS}n/damaged", b"a:damaged")])
    await over(inner, A, metrics=metrics).get(f"{SECRETS}n/damaged")
    assert metrics.transformations == {
        ("secrets", "to_storage", "b:", "OK"): 1,
        ("secrets", "from_storage", "b:", "OK"): 1,
        ("secrets", "from_storage", "identity", "OK"): 1,
        ("secrets", "from_storage", "a:", "unknown-non-grpc"): 1,
    }
    assert {labels: durations.count for labels, durations in metrics.durations.items()} == {
        ("secrets", "to_storage", "b:"): 1,
        ("secrets", "from_storage", "b:"): 1,
        ("secrets", "from_storage", "identity"): 1,
    }


async def test_transformation_that_a_plugin_refuses_has_its_status(inner):
    plugin, metrics = Plugin(), EncryptionMetrics(FakeClock())
    transformer = EnvelopeTransformer("p", plugin, clock=FakeClock())
    await transformer.probe()
    await over(inner, (b"p:", transformer)).txn([Put(f"{SECRETS}n/a", b"secret")])
    restarted = EnvelopeTransformer("p", plugin, clock=FakeClock())
    await restarted.probe()
    plugin.is_down = True
    with pytest.raises(Unavailable):
        await over(inner, (b"p:", restarted), metrics=metrics).get(f"{SECRETS}n/a")
    assert metrics.transformations == {("secrets", "from_storage", "p:", "Unavailable"): 1}
