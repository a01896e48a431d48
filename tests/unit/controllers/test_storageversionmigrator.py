from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.storagemigration_v1beta1 import StorageVersionMigration

from steersman.client import custom, tree
from steersman.client.errors import Conflict, InternalError, Invalid, ServiceUnavailable, TooManyRequests
from steersman.client.transport import Response
from steersman.controllers.storageversionmigrator import plan
from steersman.controllers.storageversionmigrator.controller import MIGRATIONS, build
from steersman.controllers.storageversionmigrator.plan import (
    End,
    MarkRunning,
    Migrate,
    RecordResourceVersion,
    next_step,
    resource_of,
)
from steersman.controlplane.loopback_transport import LoopbackTransport

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KIND = ("storagemigration.k8s.io/v1beta1", "StorageVersionMigration")
WIDGETS = [custom(f"example.com/{version}", "Widget", plural="widgets") for version in ("v1", "v2")]
DEFINITION = "widgets.example.com"


def migration(*conditions, name="m", age=0, version=None, group="example.com", **falsely):
    rows = [{"type": condition, "status": "True"} for condition in conditions]
    rows += [{"type": item, "status": "False"} for item in falsely.get("falsely", ())]
    since = NOW.isoformat()
    listed = [row | {"reason": "Before", "message": "", "lastTransitionTime": since} for row in rows]
    created = (NOW - timedelta(seconds=age)).isoformat()
    body = {
        "metadata": {"name": name, "generation": 1, "creationTimestamp": created},
        "spec": {"resource": {"group": group, "resource": "widgets"}},
        "status": {"conditions": listed, "resourceVersion": version},
    }
    return msgspec.convert(body, StorageVersionMigration)


def conditions(of):
    return {row.type: (row.status, row.reason, row.message) for row in of.status.conditions}


@pytest.mark.parametrize(("group", "name"), [("", "widgets"), ("example.com", DEFINITION)])
def test_resource_of_has_the_group(group, name):
    assert resource_of(migration(group=group)) == name


RUNS = migration("Running")
READY = migration("Running", version="7")
DONE = migration("Succeeded", falsely=["Running"])
OVER = [migration("Running", item) for item in ("Succeeded", "Failed")]
OLD = migration(name="old", age=9)
ALSO_OLD = migration(name="also-old", age=9)


@pytest.mark.parametrize(
    ("migrations", "step"),
    [
        ([], None),
        ([DONE], None),
        ([migration()], MarkRunning(migration())),
        ([migration(), OLD, ALSO_OLD], MarkRunning(ALSO_OLD)),
        ([OLD, RUNS], RecordResourceVersion(RUNS)),
        ([OLD, READY], Migrate(READY, "7")),
        ([OLD, DONE], MarkRunning(OLD)),
        ([OLD, OVER[0]], End(OVER[0], True)),
        ([OLD, OVER[1]], End(OVER[1], False)),
    ],
)
def test_next_step_takes_the_oldest_of_one_at_a_time(migrations, step):
    assert next_step(migrations) == step


def test_start_sets_the_running_condition():
    result = plan.mark_running(migration(), now=NOW)
    assert conditions(result) == {"Running": ("True", "MigrationRunning", "The migration is running")}
    assert plan.record_resource_version(result, "7").status.resourceVersion == "7"


COMPLETED = ("False", "MigrationCompleted", "Migration completed")


@pytest.mark.parametrize(
    ("of", "failure", "result"),
    [
        (READY, "", {"Succeeded": ("True", "StorageVersionMigrationSucceeded", "")}),
        (
            READY,
            "no",
            {"Failed": ("True", "StorageVersionMigrationFailed", "migration encountered unhandled error: no")},
        ),
        (OVER[1], "", {"Failed": ("True", "Before", "")}),
    ],
)
def test_ended_replaces_running_by_the_result(of, failure, result):
    assert conditions(plan.mark_completed(of, failure=failure, now=NOW)) == {"Running": COMPLETED, **result}


@pytest.mark.parametrize(("age", "young"), [(0, True), (59, True), (60, False)])
def test_is_young(age, young):
    assert plan.is_young(migration(age=age), now=NOW) is young


@pytest.mark.parametrize(
    ("kind", "passing"),
    [(InternalError, True), (ServiceUnavailable, True), (TooManyRequests, True), (Invalid, False), (Conflict, False)],
)
def test_is_passing_for_server_errors(kind, passing):
    status = {"reason": kind.__name__, "code": 500, "message": ""}
    assert plan.is_passing(kind(status)) is passing


def test_rewrite_has_identity_only():
    obj = {"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5", "labels": {"x": "y"}}}
    assert plan.rewrite(obj, api_version="v1", kind="Secret") == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5"},
    }


def definition(*, generation=3, observed=3):
    condition = {"type": "StorageMigrating", "status": "True", "observedGeneration": observed}
    versions = [{"name": "v1"}, {"name": "v2", "storage": True}]
    metadata = {"name": DEFINITION, "resourceVersion": "9", "generation": generation}
    return {"metadata": metadata, "spec": {"versions": versions}, "status": {"conditions": [condition]}}


def test_start_for_a_definition_sets_the_condition():
    applied = plan.mark_definition_migrating(definition(), "m", now=NOW)
    (condition,) = applied["status"]["conditions"]
    assert (condition["status"], condition["message"]) == ("True", "Migration m is running")
    assert (condition["observedGeneration"], applied["metadata"]["resourceVersion"]) == (3, "9")


@pytest.mark.parametrize(
    ("of", "succeeded", "reason", "stored"),
    [
        (definition(), True, "MigrationSucceeded", ["v2"]),
        (definition(observed=2), True, "MigrationSucceeded", None),
        (definition(), False, "MigrationFailed", None),
    ],
)
def test_definition_ended_drops_old_versions_only_if_certain(of, succeeded, reason, stored):
    status = plan.mark_definition_migrated(of, succeeded=succeeded, now=NOW)["status"]
    assert (status["conditions"][0]["status"], status["conditions"][0]["reason"]) == ("False", reason)
    assert status.get("storedVersions") == stored


# The controller


def versions(stored):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return [{"name": name, "served": True, "storage": name == stored, "schema": schema} for name in ("v1", "v2")]


@pytest.fixture
async def widgets(cluster):
    """Two widgets that are stored as v1, which is not the version to store any more."""
    await cluster.define(MIGRATIONS)
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions("v1")}
    await cluster.make("apiextensions.k8s.io/v1", "CustomResourceDefinition", DEFINITION, spec=spec)
    await cluster.until(lambda: cluster.serves(WIDGETS[1]))
    for name in ("a", "b"):
        await cluster.make("example.com/v1", "Widget", name, namespace="default", spec={"size": 1})
    result = await cluster.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", DEFINITION)
    await cluster.client.update({**result, "spec": {**result["spec"], "versions": versions("v2")}})
    await cluster.eventually(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        DEFINITION,
        lambda now: now["status"]["storedVersions"] == ["v1", "v2"],
    )


async def migrate(cluster, resource, name="m"):
    await cluster.make(*KIND, name, spec={"resource": resource})


def has_ended(cluster, name="m"):
    async def conditions():
        rows = (await cluster.client.get(MIGRATIONS.as_trees(), name)).get("status", {}).get("conditions", ())
        by_key = {row["type"]: row for row in rows}
        return by_key if {"Succeeded", "Failed"} & set(by_key) else None

    return conditions


async def stored_versions(cluster):
    obj = await cluster.client.get(tree("apiextensions.k8s.io/v1", "CustomResourceDefinition"), DEFINITION)
    return obj["status"]["storedVersions"], {row["type"]: row for row in obj["status"]["conditions"]}


class Patches:
    """Applied patches of widgets; scripted responses by widget name."""

    def __init__(self):
        self.sent = []
        self.answers = {}

    def hear(self, request):
        place, _, name = request.path.rpartition("/")
        if request.method != "PATCH" or not place.endswith("/namespaces/default/widgets"):
            return None
        self.sent.append(msgspec.json.decode(request.body))
        conditions = self.answers.get(name)
        if not conditions:
            return None
        code, reason = conditions.pop(0)
        status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "refused"}
        return Response(code, {"content-type": "application/json"}, msgspec.json.encode(status))


@pytest.fixture
def patches(monkeypatch):
    received, send = Patches(), LoopbackTransport.request

    async def request(self, request):
        return received.hear(request) or await send(self, request)

    monkeypatch.setattr(LoopbackTransport, "request", request)
    return received


WIDGET = {"group": "example.com", "resource": "widgets"}


@pytest.mark.usefixtures("widgets")
async def test_migration_writes_the_storage_version(cluster, patches):
    present = await cluster.client.list(WIDGETS[1])
    await cluster.start(build)
    await migrate(cluster, WIDGET)
    ended = await cluster.until(has_ended(cluster))
    assert {type_: row["status"] for type_, row in ended.items()} == {"Running": "False", "Succeeded": "True"}
    expected = [plan.rewrite(item, api_version="example.com/v2", kind="Widget") for item in present]
    assert patches.sent == expected
    stored, conditions = await stored_versions(cluster)
    assert stored == ["v2"]
    assert conditions["StorageMigrating"]["reason"] == "MigrationSucceeded"


@pytest.mark.usefixtures("widgets")
async def test_migration_skips_objects_written_since(cluster, patches):
    version = (await cluster.client.list(WIDGETS[1])).resource_version
    running = msgspec.to_builtins(plan.mark_running(migration(), now=cluster.clock.now()).status)
    await cluster.make(*KIND, "m", spec={"resource": WIDGET}, status={**running, "resourceVersion": version})
    obj = await cluster.client.get(WIDGETS[1], "a", namespace="default")
    await cluster.client.update({**obj, "spec": {"size": 2}})
    await cluster.start(build)
    await cluster.until(has_ended(cluster))
    assert [sent["metadata"]["name"] for sent in patches.sent] == ["b"]


@pytest.mark.usefixtures("widgets")
async def test_migration_ignores_conflicts_and_retries_transient_errors(cluster, patches):
    patches.answers = {"a": [(409, "Conflict")] * 2, "b": [(503, "ServiceUnavailable")]}
    await cluster.start(build)
    await migrate(cluster, WIDGET)
    ended = await cluster.until(has_ended(cluster))
    assert ended["Succeeded"]["status"] == "True"
    assert [sent["metadata"]["name"] for sent in patches.sent] == ["a", "b", "a", "b"]


@pytest.mark.usefixtures("widgets")
async def test_migration_fails_on_permanent_errors_and_keeps_old_versions(cluster, patches):
    patches.answers = {"b": [(422, "Invalid")]}
    await cluster.start(build)
    await migrate(cluster, WIDGET)
    ended = await cluster.until(has_ended(cluster))
    assert ended["Failed"]["message"] == "migration encountered unhandled error: refused"
    stored, conditions = await stored_versions(cluster)
    assert stored == ["v1", "v2"]
    assert conditions["StorageMigrating"]["reason"] == "MigrationFailed"


async def test_migration_does_not_rewrite_current_objects(cluster):
    await cluster.define(MIGRATIONS)
    before = await cluster.make("v1", "ConfigMap", "a", namespace="default", data={"a": "b"})
    await cluster.start(build)
    await migrate(cluster, {"group": "", "resource": "configmaps"})
    ended = await cluster.until(has_ended(cluster))
    assert ended["Succeeded"]["status"] == "True"
    result = await cluster.client.get(MIGRATIONS, "m")
    assert int(result.status.resourceVersion) >= int(before["metadata"]["resourceVersion"])
    assert await cluster.find("v1", "ConfigMap", "a", namespace="default") == before


async def test_migration_of_an_unserved_resource_fails_after_a_minute(cluster):
    await cluster.define(MIGRATIONS)
    await cluster.start(build)
    await migrate(cluster, {"group": "example.com", "resource": "nothing"})
    await cluster.clock.advance(50)
    assert not await has_ended(cluster)()
    ended = await cluster.until(has_ended(cluster))
    assert ended["Failed"]["message"] == (
        "migration encountered unhandled error: unable to obtain GVR from discovery"
    )  # fmt: skip
    assert ended["Running"]["status"] == "False"


async def test_migration_fails_when_list_is_not_supported(cluster):
    await cluster.define(MIGRATIONS)
    await cluster.start(build)
    await migrate(cluster, {"group": "authorization.k8s.io", "resource": "subjectaccessreviews"})
    ended = await cluster.until(has_ended(cluster))
    assert ended["Failed"]["message"].startswith("migration encountered unhandled error: ")


async def test_migrations_of_one_resource_run_in_sequence(cluster):
    await cluster.define(MIGRATIONS)
    for name in ("one", "two"):
        await migrate(cluster, {"group": "", "resource": "configmaps"}, name)
    await cluster.start(build)
    for name in ("one", "two"):
        assert (await cluster.until(has_ended(cluster, name)))["Succeeded"]["status"] == "True"
