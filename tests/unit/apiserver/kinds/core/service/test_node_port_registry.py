"""Access to allocated node ports."""

import pytest

from steersman.apiserver.kinds.core.service.node_port_registry import NodePortRegistry
from steersman.apiserver.kinds.shared.allocation import PortRange
from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Conflict


@pytest.fixture
async def registry():
    store = MemoryStore(clock=FakeClock())
    yield NodePortRegistry(store, PortRange(30000, 30009))
    await store.close()


async def test_change_allocates_and_releases_ports(registry):
    nothing = await registry.read()
    assert nothing.ports == frozenset()
    await registry.change(nothing, take=[30000, 30009], release=[])
    some = await registry.read()
    assert some.ports == {30000, 30009}
    await registry.change(some, take=[30001], release=[30000])
    assert (await registry.read()).ports == {30001, 30009}


async def test_change_conflicts_when_value_has_changed(registry):
    seen = await registry.read()
    await registry.change(seen, take=[30000], release=[])
    with pytest.raises(Conflict):
        await registry.change(seen, take=[30001], release=[])
