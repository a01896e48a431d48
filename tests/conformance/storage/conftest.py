"""Fixtures that run every test with every implementation of the store."""

from __future__ import annotations

from contextlib import AsyncExitStack
from uuid import uuid4

import pytest
from tests.conformance.storage.etcd_body import EtcdBody
from tests.unit.storage.recorder import Recorder

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor
from steersman.storage.encryption.ciphers import ExtendedNonceGcm
from steersman.storage.encryption.metrics import EncryptionMetrics
from steersman.storage.encryption.store import EncryptedStore
from steersman.storage.encryption.transformers import PrefixTransformers, ResourceTransformers
from steersman.storage.memory import MemoryStore
from steersman.storage.sqlite import SqliteStore


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def recorders():
    """Return a factory of recorders."""
    return Recorder


@pytest.fixture
def clock():
    return FakeClock()


#: Encryption of every key, with a key of its own for each value.
CIPHER = ExtendedNonceGcm(bytes(range(32)))
ENCRYPTION = ResourceTransformers(
    {("*", "*"): PrefixTransformers("no matching prefix found", [(b"k8s:enc:test:", CIPHER)])}
)


@pytest.fixture(params=["memory", "sqlite", "sqlite with a writer thread", "encrypted", "etcd"])
async def open_store(request, clock, tmp_path):
    """Return a function that opens stores with options; they are closed after the test."""
    for marker in request.node.iter_markers("not_on"):
        if request.param == marker.args[0]:
            pytest.skip(marker.args[1])
    url = request.getfixturevalue("etcd_url") if request.param == "etcd" else ""
    numbers = iter(range(100))
    async with AsyncExitStack() as stack:

        async def open_memory(**options):
            return MemoryStore(clock=clock, **options)

        async def open_sqlite(**options):
            return await SqliteStore.open(tmp_path / f"{next(numbers)}.db", clock=clock, **options)

        async def open_with_thread(**options):
            return await open_sqlite(writer="thread", **options)

        async def open_encrypted(**options):
            inner = MemoryStore(clock=clock, **options)
            tasks = Supervisor("encrypted store")
            metrics = EncryptionMetrics(clock)
            return EncryptedStore(
                inner, ENCRYPTION, resource_of=lambda _: ("secrets", ""), tasks=tasks, metrics=metrics
            )

        async def open_etcd(**options):
            return await EtcdBody.open(url, prefix=f"/{uuid4().hex}:", clock=clock)

        openers = {
            "memory": open_memory,
            "sqlite": open_sqlite,
            "sqlite with a writer thread": open_with_thread,
            "encrypted": open_encrypted,
            "etcd": open_etcd,
        }
        opener = openers[request.param]

        async def open_store(**options):
            store = await opener(**options)
            stack.push_async_callback(store.close)
            return store

        yield open_store


@pytest.fixture
def numbering(request):
    """Returns the revisions of the changes of transactions, given the number of changes of each.

    The local stores give each change a revision of its own, etcd one to each transaction.
    """
    shares_revision = request.node.callspec.params["open_store"] == "etcd"

    def revisions(*changes):
        if shares_revision:
            return [number for number, count in enumerate(changes, 1) for _ in range(count)]
        return list(range(1, sum(changes) + 1))

    return revisions


@pytest.fixture
async def store(open_store):
    return await open_store()
