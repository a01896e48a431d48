"""Options of the bootstrap controller's loops."""

from random import Random

from steersman.asynckit.clock import FakeClock
from steersman.client import Client, tree
from steersman.controlplane.bootstrap.loop_options import LoopOptions
from steersman.controlplane.core import ServerCore
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.controlplane.options import APIServerOptions
from steersman.storage.memory import MemoryStore

LEASES = tree("coordination.k8s.io/v1", "Lease")


async def renewals(factor):
    """Return how often the identity Lease changes within ten minutes."""
    clock = FakeClock()
    core = ServerCore(
        APIServerOptions(ephemeral=True),
        MemoryStore(clock=clock),
        clock=clock,
        with_bootstrap_controller=True,
        loop_options=LoopOptions(period_factor=factor, dice=Random(1)),
    )
    await core.start()
    client, times = Client(LoopbackTransport(core.client), clock=clock), set()
    for _ in range(60):
        await clock.advance(10)
        (lease,) = await client.list(LEASES, namespace="kube-system")
        times.add(lease["spec"]["renewTime"])
    await core.close()
    return len(times)


async def test_period_factor_lengthens_the_periods():
    assert await renewals(1.0) > 50
    assert await renewals(30.0) <= 3
