from datetime import UTC, datetime

import pytest

from steersman.client import tree
from steersman.controllers.resourcequota.controller import build
from steersman.controllers.resourcequota.plan import (
    count,
    counted_resources,
    is_written,
    lowers,
    raises,
    seconds_to_overdue_pod,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def quota(hard, *, used=None, written=None, scopes=()):
    status = {} if used is None else {"hard": written or hard, "used": used}
    return {"metadata": {"name": "q"}, "spec": {"hard": hard, "scopes": list(scopes)}, "status": status}


def pod(name, *, phase="Running", cpu="", **metadata):
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "c", "resources": resources}]},
        "status": {"phase": phase},
    }


def counted(obj, objects):
    return count(obj, lambda resource: objects.get(resource, []), now=NOW).tree()


def test_count_uses_the_resources_of_the_limits():
    assert counted_resources({"pods": "1", "count/widgets.example.com": "2", "secrets": "3"}) == [
        "pods", "secrets", "widgets.example.com",
    ]  # fmt: skip


def test_finished_pods_count_only_as_objects():
    result = quota({"pods": "5", "count/pods": "5", "requests.cpu": "4"})
    pods = [pod("a", cpu="500m"), pod("b", cpu="1"), pod("c", phase="Succeeded", cpu="1")]
    assert counted(result, {"pods": pods})["used"] == {"count/pods": "3", "pods": "2", "requests.cpu": "1500m"}


def test_count_applies_scopes():
    result = quota({"pods": "5"}, scopes=["BestEffort"])
    assert counted(result, {"pods": [pod("a"), pod("b", cpu="1")]})["used"] == {"pods": "1"}


def test_count_keeps_unknown_usage():
    actual = quota({"count/widgets.example.com": "3", "secrets": "2"}, used={"count/widgets.example.com": "2"})
    result = count(actual, {"secrets": [{}]}.get, now=NOW)
    assert result.tree()["used"] == {"secrets": "1", "count/widgets.example.com": "2"}


def test_count_drops_removed_limits():
    actual = quota({"pods": "1"}, used={"pods": "0", "secrets": "4"}, written={"pods": "1", "secrets": "9"})
    result = count(actual, {"pods": []}.get, now=NOW)
    assert result.tree() == {"hard": {"pods": "1"}, "used": {"pods": "0"}}
    assert not is_written(actual, result)


def test_equal_quantities_are_not_written():
    result = quota({"requests.cpu": "1000m"}, used={"requests.cpu": "0"}, written={"requests.cpu": "1"})
    assert is_written(result, count(result, {"pods": []}.get, now=NOW))


@pytest.mark.parametrize(("used", "lower"), [({"pods": "1"}, True), ({"pods": "0"}, False), ({}, False)])
def test_lowered_usage_differs_from_raised_usage(used, lower):
    result = quota({"pods": "5"}, used=used)
    assert lowers(result, count(result, {"pods": []}.get, now=NOW)) is lower


def test_raises_detects_an_increment_by_admission():
    assert raises(quota({}, used={"pods": "1"}), quota({}, used={"pods": "2"}))
    assert not raises(quota({}, used={"pods": "2"}), quota({}, used={"pods": "1"}))


def test_seconds_to_overdue_pod():
    late = pod("a", deletionTimestamp="2026-01-01T00:00:10Z", deletionGracePeriodSeconds=30)
    assert seconds_to_overdue_pod([pod("b"), late], now=NOW) == 41
    assert seconds_to_overdue_pod([pod("b")], now=NOW) is None


async def used(cluster):
    result = await cluster.find("v1", "ResourceQuota", "q", namespace="default")
    return result.get("status", {}).get("used")


async def test_status_follows_created_and_deleted_objects(cluster):
    await cluster.start(build)
    await cluster.make("v1", "ResourceQuota", "q", namespace="default", spec={"hard": {"count/configmaps": "3"}})

    def uses(amount):
        async def is_so():
            return await used(cluster) == {"count/configmaps": amount}

        return is_so

    await cluster.until(uses("0"))
    await cluster.make("v1", "ConfigMap", "c", namespace="default")
    await cluster.until(uses("1"))
    await cluster.client.delete(tree("v1", "ConfigMap"), "c", namespace="default")
    await cluster.until(uses("0"))


async def test_finished_pod_is_subtracted(cluster, pod_spec):
    await cluster.start(build)
    await cluster.make("v1", "ResourceQuota", "q", namespace="default", spec={"hard": {"pods": "3"}})
    await cluster.eventually(
        "v1", "ResourceQuota", "q", lambda obj: obj.get("status", {}).get("used"), namespace="default"
    )
    await cluster.make("v1", "Pod", "p", namespace="default", spec=pod_spec)
    assert await used(cluster) == {"pods": "1"}
    status = {"status": {"phase": "Succeeded"}}
    await cluster.client.patch(tree("v1", "Pod"), "p", status, namespace="default", subresource="status")
    await cluster.eventually(
        "v1", "ResourceQuota", "q", lambda obj: obj["status"]["used"] == {"pods": "0"}, namespace="default"
    )


async def test_custom_resource_is_counted_once_defined(cluster):
    await cluster.start(build)
    await cluster.make("v1", "ResourceQuota", "q", namespace="default", spec={"hard": {"count/toys.example.com": "3"}})
    await cluster.eventually(
        "v1", "ResourceQuota", "q", lambda obj: obj.get("status", {}).get("hard"), namespace="default"
    )
    assert not await used(cluster)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "toys", "singular": "toy", "kind": "Toy"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    await cluster.make("apiextensions.k8s.io/v1", "CustomResourceDefinition", "toys.example.com", spec=spec)

    async def is_counted():
        return await used(cluster) == {"count/toys.example.com": "0"}

    await cluster.until(is_counted)


async def test_devices_are_counted_by_class(cluster):
    await cluster.start(build)
    hard = {"gpu.deviceclass.resource.k8s.io/devices": "9", "count/resourceclaims.resource.k8s.io": "9"}
    await cluster.make("v1", "ResourceQuota", "q", namespace="default", spec={"hard": hard})
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}
    kind = ("resource.k8s.io/v1", "ResourceClaim")
    await cluster.eventually(
        "v1", "ResourceQuota", "q", lambda obj: obj.get("status", {}).get("used"), namespace="default"
    )
    await cluster.make(*kind, "c", namespace="default", spec={"devices": {"requests": [request]}})
    await cluster.client.delete(tree(*kind), "c", namespace="default")
    await cluster.make(*kind, "d", namespace="default", spec={"devices": {"requests": [request]}})
    expected = {"gpu.deviceclass.resource.k8s.io/devices": "2", "count/resourceclaims.resource.k8s.io": "1"}
    await cluster.eventually(
        "v1", "ResourceQuota", "q", lambda obj: obj["status"]["used"] == expected, namespace="default"
    )


async def test_quotas_are_recounted_after_the_sync_period(cluster, resyncs):
    await cluster.start(build, resource_quota_sync_period_seconds=7.0)
    await cluster.make("v1", "ResourceQuota", "q", namespace="default", spec={"hard": {"pods": "1"}})
    [(seconds, keys)] = resyncs
    await cluster.until(lambda: keys() == ["default/q"])
    assert seconds == 7.0
