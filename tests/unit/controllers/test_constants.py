"""Constants of kube-controller-manager, by what they cause: each test fails when its constant changes."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from lightkube.models.core_v1 import Pod, ReplicationController

from steersman.asynckit.clock import FakeClock
from steersman.client.errors import RequestFailed
from steersman.client.leaderelection import Timing
from steersman.client.leaderelection.rules import JITTER_FACTOR
from steersman.client.transport import TransportError
from steersman.client.workqueue.ratelimiters import ItemExponentialFailureRateLimiter
from steersman.controllers.manager.assembly import assemble, wait_for_server
from steersman.controllers.manager.identities import OneIdentity
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.registry import REGISTRY, find
from steersman.controllers.replication import replicaset, replicationcontroller
from steersman.controllers.replication.plan import plan_replicas
from steersman.controllers.shared.base import ManagedController
from steersman.controlplane.controller_manager import EXIT_ENDED
from steersman.controlplane.process import EXIT_REFUSED
from steersman.runtime.expectations import Expectations

# The process


class FixedDice:
    """Return the same number each time."""

    def __init__(self, number):
        self._number = number

    def random(self):
        return self._number


@pytest.mark.parametrize(("number", "hours"), [(0.0, 12), (0.5, 18), (0.999, 23.988)])
async def test_informers_resync_after_one_to_two_times_the_minimum(cluster, number, hours):
    options = ManagerOptions(controllers=("replicationcontroller",), leader_elect=False, port=0)
    identities = OneIdentity(cluster.client._transport, options, clock=cluster.clock)
    manager = await assemble(options, identities, identity="me", dice=FixedDice(number))
    assert manager.context.informers._resync_seconds == pytest.approx(hours * 3600)


async def test_min_resync_period_of_zero_disables_resyncs(cluster):
    options = ManagerOptions(controllers=(), leader_elect=False, port=0, min_resync_period_seconds=0.0)
    identities = OneIdentity(cluster.client._transport, options, clock=cluster.clock)
    manager = await assemble(options, identities, identity="me", dice=FixedDice(0.5))
    assert manager.context.informers._resync_seconds is None


def test_leader_election_has_upstreams_periods():
    assert Timing() == Timing(lease_duration_seconds=15, renew_deadline_seconds=10, retry_period_seconds=2)
    assert JITTER_FACTOR == 1.2
    options = ManagerOptions()
    assert options.leader_elect_lease_duration_seconds == 15
    assert options.leader_elect_renew_deadline_seconds == 10
    assert options.leader_elect_retry_period_seconds == 2
    assert (options.leader_elect_resource_lock, options.leader_elect_resource_name) == (
        "leases",
        "kube-controller-manager",
    )


class Absent:
    """A server that never answers."""

    host = "absent"

    async def request(self, request):
        raise TransportError("no route")


async def test_unresponsive_server_is_given_up_after_10_seconds():
    clock = FakeClock()
    waiting = asyncio.create_task(wait_for_server(OneIdentity(Absent(), ManagerOptions(), clock=clock).root()))
    started = clock.monotonic()
    while not waiting.done():
        await clock.advance(0.5)
    with pytest.raises(RequestFailed):
        waiting.result()
    assert 10 <= clock.monotonic() - started < 20


def test_lost_lease_and_failed_start_exit_with_1():
    assert (EXIT_ENDED, EXIT_REFUSED) == (1, 1)


# Names


@pytest.mark.parametrize(
    ("alias", "name", "account"),
    [
        ("endpoint", "endpoints-controller", "endpoint-controller"),
        ("replicationcontroller", "replicationcontroller-controller", "replication-controller"),
        ("replicaset", "replicaset-controller", "replicaset-controller"),
        ("tokencleaner", "token-cleaner-controller", "token-cleaner"),
    ],
)
def test_names_and_accounts_of_controllers_are_upstreams(alias, name, account):
    entry = find(alias)
    assert (entry.name, entry.service_account) == (name, account)
    assert find(name) is entry


def test_serviceaccount_token_controller_starts_first():
    assert REGISTRY[0].name == "serviceaccount-token-controller"


# The queue


class Failing(ManagedController):
    """Record when each key is reconciled, and fail."""

    name = "failing"

    def __init__(self, context):
        super().__init__(context, workers=200)
        self.moments = {}

    async def reconcile(self, key):
        self.moments.setdefault(key, []).append(self.clock.monotonic())
        raise ValueError(key)


async def test_failing_keys_wait_from_5_ms_doubling_to_60_s(cluster, clock):
    controller = await cluster.start(Failing)
    controller.queue.add("a")
    await cluster.until(lambda: len(controller.moments.get("a", ())) == 17, step_seconds=1.0, within_seconds=400)
    moments = controller.moments["a"]
    waits = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert waits == pytest.approx([min(0.005 * 2**n, 60.0) for n in range(16)], abs=1e-6)


def test_client_gos_own_limit_of_the_wait_is_1000_s():
    limiter = ItemExponentialFailureRateLimiter()
    assert [limiter.when("a") for _ in range(20)][-3:] == pytest.approx([655.36, 1000, 1000])


async def test_retries_are_limited_to_10_per_second_after_a_burst_of_100(cluster, clock):
    controller = await cluster.start(Failing)
    for number in range(150):
        controller.queue.add(str(number))
    await clock.advance(0.05)
    retried = sum(len(moments) - 1 for moments in controller.moments.values())
    assert (len(controller.moments), retried) == (150, 100)
    await clock.advance(2.0)
    assert sum(len(moments) - 1 for moments in controller.moments.values()) == 120


# The replication controller


@pytest.mark.parametrize(
    ("build", "option"),
    [
        (replicationcontroller.build, "concurrent_rc_syncs"),
        (replicaset.build, "concurrent_replicaset_syncs"),
    ],
)
async def test_replication_controllers_have_five_workers(cluster, build, option):
    def workers(controller):
        return controller.context.metrics.workers.labels(controller.name)._value.get()

    assert workers(await cluster.start(build)) == 5
    assert workers(await cluster.start(build, **{option: 7})) == 7


def test_reconcile_writes_at_most_500_pods(clock):
    now = clock.now()
    assert plan_replicas([], 501, related=[], now=now).create == 500
    assert len(plan_replicas([Pod() for _ in range(501)], 0, related=[], now=now).delete) == 500


async def test_expectations_expire_after_five_minutes(clock):
    expectations = Expectations(clock)
    expectations.expect("a", creations=1)
    await clock.advance(299.9)
    assert not expectations.satisfied("a")
    await clock.advance(0.1)
    assert expectations.satisfied("a")


@pytest.fixture
async def controller(cluster):
    return await cluster.start(replicationcontroller.build)


async def make(cluster, pod_spec, replicas):
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod_spec}
    spec = {"replicas": replicas, "selector": {"app": "x"}, "template": template}
    return await cluster.make("v1", "ReplicationController", "rc", namespace="default", spec=spec)


async def test_events_of_replication_controllers_name_upstreams_component(cluster, controller, pod_spec):
    await make(cluster, pod_spec, 1)
    events = await cluster.until(lambda: cluster.events("SuccessfulCreate"))
    assert events[0]["source"]["component"] == "replication-controller"


@pytest.mark.parametrize(("conflicts_met", "is_written"), [(1, True), (2, False)])
async def test_reconcile_writes_the_status_at_most_twice(
    cluster, controller, pod_spec, conflicts, conflicts_met, is_written
):
    await make(cluster, pod_spec, 0)
    rc = await cluster.client.get(ReplicationController, "rc", namespace="default")
    await cluster.until(lambda: controller.objects.lister.by_key("default/rc").status.observedGeneration)
    for _ in range(conflicts_met):
        conflicts.add("PUT", "/rc/status")
    if is_written:
        assert await controller._update_status(rc, rc.status)
    else:
        with pytest.raises(Exception, match="refused"):
            await controller._update_status(rc, rc.status)


async def test_open_expectations_are_checked_after_5_seconds(cluster, controller, pod_spec):
    await make(cluster, pod_spec, 0)
    await cluster.until(lambda: controller.objects.lister.by_key("default/rc"))
    controller.expectations.expect("default/rc", creations=1)
    result = await controller.reconcile("default/rc")
    assert result.requeue_after_seconds == 5


class Creating(ManagedController):
    """Note one creation."""

    name = "creating"

    def __init__(self, context):
        super().__init__(context)
        self.pods = self.informer(Pod)
        self.moments = []

    async def reconcile(self, key):
        self.moments.append(self.clock.monotonic())
        if len(self.moments) == 1:
            self.record_created(key, self.pods, await self.client.create(self.pod))


async def test_created_objects_are_checked_after_5_seconds(cluster, pod_spec):
    controller = await cluster.start(Creating)
    controller.pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": pod_spec}  # fmt: skip
    controller.queue.add("a")
    await cluster.until(lambda: len(controller.moments) == 2)
    first, second = controller.moments
    assert second - first == pytest.approx(5, abs=0.1)
