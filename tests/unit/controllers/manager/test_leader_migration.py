"""Leader migration: the configuration, and which controllers run under which lock."""

from __future__ import annotations

import asyncio
import re

import pytest

from steersman.client import tree
from steersman.client.errors import NotFound
from steersman.controllers.manager.assembly import assemble
from steersman.controllers.manager.identities import OneIdentity
from steersman.controllers.manager.leader_migration import (
    DEFAULT,
    Assignment,
    ControllerLeader,
    LeaderMigration,
    decode,
    read_leader_migration,
    validate,
)
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.registry import find
from steersman.runtime.manager import LeadershipLost

LEASES = tree("coordination.k8s.io/v1", "Lease")
MAIN, MIGRATION = "kube-controller-manager", "move"
HEAD = "apiVersion: controllermanager.config.k8s.io/{}\nkind: LeaderMigrationConfiguration\n"
LEADERS = """
leaderName: move
controllerLeaders:
- {name: replicaset-controller, component: kube-controller-manager}
- {name: job, component: cloud-controller-manager}
- {name: ttl-controller, component: "*"}
"""


def test_default_configuration_is_upstreams():
    assert read_leader_migration("") == DEFAULT
    assert (DEFAULT.leader_name, DEFAULT.resource_lock) == ("cloud-provider-extraction-migration", "leases")
    assert DEFAULT.controller_leaders == tuple(
        ControllerLeader(name, "*") for name in ("route", "service", "cloud-node-lifecycle")
    )


@pytest.mark.parametrize(
    ("version", "lock"), [("v1", ""), ("v1", "resourceLock: x"), ("v1beta1", "resourceLock: leases"), ("v1alpha1", "resourceLock: leases")]
)  # fmt: skip
def test_configuration_of_each_version_is_read(version, lock, tmp_path):
    path = tmp_path / "migration.yaml"
    path.write_text(HEAD.format(version) + LEADERS + lock)
    read = read_leader_migration(str(path))
    assert (read.leader_name, read.resource_lock, len(read.controller_leaders)) == ("move", "leases", 3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Object 'Kind' is missing in the leader migration configuration"),
        ("kind: LeaderMigrationConfiguration", "Object 'apiVersion' is missing"),
        (
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration",
            'no kind "KubeletConfiguration" is registered for version "kubelet.config.k8s.io/v1beta1"',
        ),
        (HEAD.format("v2"), 'is registered for version "controllermanager.config.k8s.io/v2"'),
        (HEAD.format("v1") + "leader: a", "strict decoding error: Object contains unknown field `leader`"),
        (HEAD.format("v1") + "controllerLeaders: 1", "strict decoding error: Expected `array`"),
        ("{", "couldn't get version/kind; "),
    ],
)
def test_configuration_that_does_not_decode_is_refused(text, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        decode(text.encode())


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="unable to read leader migration configuration from"):
        read_leader_migration(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("configuration", "errors"),
    [
        (LeaderMigration("a", "leases"), []),
        (
            LeaderMigration("", "leases"),
            ["leaderName: Required value: leaderName must be set for LeaderMigrationConfiguration"],
        ),
        (
            LeaderMigration("a", "x"),
            ["resourceLock: Invalid value: \"x\": resource Lock must be one of 'leases' or 'endpoints'"],
        ),
        (LeaderMigration("a", "endpoints"), ["endpoints lock is removed, migrate to leases"]),
        (
            LeaderMigration("a", "leases", (ControllerLeader("b", "c"), ControllerLeader())),
            [
                "controllerLeaders[1].component: Required value: component must be set",
                "controllerLeaders[1].name: Required value: name must be set",
            ],
        ),
    ],
)
def test_validation_errors_are_upstreams(configuration, errors):
    assert validate(configuration) == errors


@pytest.mark.parametrize(
    ("name", "assignment"),
    [
        ("replicaset-controller", Assignment.MIGRATED),
        ("job-controller", Assignment.UNOWNED),
        ("ttl-controller", Assignment.MIGRATED),
        ("deployment-controller", Assignment.MAIN),
    ],
)
def test_controllers_are_assigned_by_name_alias_and_component(name, assignment):
    assert decode((HEAD.format("v1") + LEADERS).encode()).assignment(find(name)) is assignment


def test_token_controller_is_never_migrated():
    everything = LeaderMigration("a", "leases", (ControllerLeader("serviceaccount-token-controller", "*"),))
    assert everything.assignment(find("serviceaccount-token-controller")) is Assignment.MAIN


# Running


@pytest.fixture
def options(tmp_path):
    path = tmp_path / "migration.yaml"
    path.write_text(HEAD.format("v1") + LEADERS)
    return ManagerOptions(
        controllers=("deployment", "replicaset", "job"), port=0, enable_leader_migration=True, leader_migration_config=str(path)
    )  # fmt: skip


class Process:
    """A manager that runs, as one process does."""

    def __init__(self, manager, identities):
        self.identities = identities
        self.manager = manager
        self.task = asyncio.create_task(manager.run())

    @property
    def running(self):
        """Names of the controllers that run."""
        metric = "running_managed_controllers"
        names = ("deployment-controller", "replicaset-controller", "job-controller")
        value = self.identities.metrics.registry.get_sample_value
        return {name for name in names if value(metric, {"name": name, "manager": MAIN})}

    async def stop(self, cluster):
        self.manager.stop()
        await cluster.until(self.task.done)


@pytest.fixture
async def begin(cluster, options):
    started = []

    async def start(identity):
        identities = OneIdentity(cluster.client._transport, options, clock=cluster.clock)
        started.append(Process(await assemble(options, identities, identity=identity), identities))
        return started[-1]

    yield start
    for process in started:
        process.manager.stop()
        await cluster.until(process.task.done)
        process.task.exception()


async def holder(cluster, name):
    try:
        lease = await cluster.client.get(LEASES, name, namespace="kube-system")
    except NotFound:
        return ""
    return lease["spec"].get("holderIdentity") or ""


async def hold(cluster, name, identity):
    """Give a lock to another process, for an hour."""
    spec = {
        "holderIdentity": identity,
        "leaseDurationSeconds": 3600,
        "renewTime": cluster.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    if not await holder(cluster, name):
        await cluster.make("coordination.k8s.io/v1", "Lease", name, namespace="kube-system", spec=spec)
    else:
        await cluster.client.patch(LEASES, name, {"spec": spec}, namespace="kube-system")


async def test_leader_migration_holds_both_locks_and_skips_other_components(cluster, begin):
    process = await begin("a")
    await cluster.until(lambda: process.running == {"deployment-controller", "replicaset-controller"})
    assert (await holder(cluster, MAIN), await holder(cluster, MIGRATION)) == ("a", "a")
    assert (await process.manager.healthz.page({})).status == 200
    await process.stop(cluster)
    assert (await holder(cluster, MAIN), await holder(cluster, MIGRATION)) == ("", "")


async def test_migrated_controllers_wait_for_the_migration_lock(cluster, begin):
    await hold(cluster, MIGRATION, "cloud")
    process = await begin("a")
    await cluster.until(lambda: process.running == {"deployment-controller"})
    await cluster.clock.advance(60)
    assert process.running == {"deployment-controller"}
    assert process.manager.is_ready
    await cluster.client.patch(LEASES, MIGRATION, {"spec": {"holderIdentity": ""}}, namespace="kube-system")
    await cluster.until(lambda: process.running == {"deployment-controller", "replicaset-controller"})
    assert await holder(cluster, MIGRATION) == "a"


async def test_migration_lock_is_not_taken_without_the_main_lock(cluster, begin):
    leader, standby = await begin("a"), None
    await cluster.until(lambda: leader.running == {"deployment-controller", "replicaset-controller"})
    standby = await begin("b")
    await cluster.clock.advance(60)
    assert standby.running == set()
    await leader.stop(cluster)
    await cluster.until(lambda: standby.running == {"deployment-controller", "replicaset-controller"})
    assert (await holder(cluster, MAIN), await holder(cluster, MIGRATION)) == ("b", "b")


async def test_loss_of_the_migration_lock_ends_the_manager(cluster, begin):
    process = await begin("a")
    await cluster.until(lambda: len(process.running) == 2)
    await hold(cluster, MIGRATION, "cloud")
    await cluster.until(process.task.done)
    error = process.task.exception()
    assert isinstance(error, ExceptionGroup)
    assert error.subgroup(LeadershipLost) is not None
    assert process.running == set()
    assert (await holder(cluster, MAIN), await holder(cluster, MIGRATION)) == ("", "cloud")
