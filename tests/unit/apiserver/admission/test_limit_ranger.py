from __future__ import annotations

import asyncio

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import PODS

from steersman.apimachinery.workmeter import Allowance, WorkLimitError, metered
from steersman.apiserver.admission.interface import Plugin
from steersman.apiserver.admission.limit_ranger import (
    ANNOTATION,
    LimitRanger,
    claim_violations,
    fill_in,
    pod_violations,
)
from steersman.apiserver.workers import are_workers_busy
from steersman.asynckit.slices import next_turn

RANGES = "/api/v1/namespaces/default/limitranges"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def limits(**item):
    return {"spec": {"limits": [{"type": "Container", **item}]}}


def pod(*containers, inits=(), **spec):
    numbered = [
        {"name": f"c{i}", "resources": {key: value for key, value in one.items() if value}}
        for i, one in enumerate(containers)
    ]
    inits = [{"name": f"i{i}", "resources": one} for i, one in enumerate(inits)]
    return {"metadata": {"name": "a"}, "spec": {"containers": numbered, "initContainers": inits, **spec}}


def violations_of(limit_range, obj):
    return list(pod_violations(obj, limit_range))


def ranger():
    return Plugged(lambda stored: LimitRanger(stored("limitranges").cache))


async def test_missing_requests_and_limits_are_defaulted():
    async with ranger() as server:
        await server.make(RANGES, **limits(default={"cpu": "500m"}, defaultRequest={"cpu": "100m"}))
        new_pod = (await server.pod(initContainers=[{"name": "i", "image": "i"}])).body
        for kind in ("containers", "initContainers"):
            assert new_pod["spec"][kind][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}
        assert new_pod["metadata"]["annotations"][ANNOTATION] == (
            "LimitRanger plugin set: cpu request for container c; cpu limit for container c; "
            "cpu request for init container i; cpu limit for init container i"
        )


def test_explicit_requests_and_limits_are_kept():
    obj = pod({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}})
    before = dict(obj["spec"]["containers"][0]["resources"])
    fill_in(obj, limits(default={"cpu": "500m"}, defaultRequest={"cpu": "100m"}))
    assert obj["spec"]["containers"][0]["resources"] == before
    assert ANNOTATION not in (obj["metadata"].get("annotations") or {})


def test_annotation_lists_defaulted_resources_by_name():
    obj = pod({})
    fill_in(obj, limits(defaultRequest={"memory": "1Gi", "cpu": "1"}))
    assert obj["metadata"]["annotations"][ANNOTATION] == "LimitRanger plugin set: cpu, memory request for container c0"


async def test_all_violated_bounds_are_reported():
    async with ranger() as server:
        await server.make(RANGES, **limits(min={"cpu": "100m"}, max={"cpu": "1"}, maxLimitRequestRatio={"cpu": "4"}))
        resources = {"requests": {"cpu": "50m"}, "limits": {"cpu": "2"}}
        answer = await server.pod(containers=[{"name": "c", "image": "i", "resources": resources}])
        assert refusal(answer) == (
            "[minimum cpu usage per Container is 100m, but request is 50m, "
            "maximum cpu usage per Container is 1, but limit is 2, "
            "cpu max limit to request ratio per Container is 4, but provided ratio is 40.000000]"
        )


@pytest.mark.parametrize(
    ("item", "resources", "text"),
    [
        ({"min": {"cpu": "1"}}, {}, "minimum cpu usage per Container is 1.  No request is specified"),
        (
            {"min": {"cpu": "1"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "500m"}},
            "minimum cpu usage per Container is 1, but limit is 500m",
        ),
        (
            {"max": {"cpu": "1"}},
            {"requests": {"cpu": "1"}},
            "maximum cpu usage per Container is 1.  No limit is specified",
        ),
        (
            {"max": {"cpu": "1"}},
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            "maximum cpu usage per Container is 1, but request is 2",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"limits": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
    ],
)
def test_violated_bound_is_reported(item, resources, text):
    assert violations_of(limits(**item), pod(resources)) == [text]


def test_ratio_is_compared_exactly():
    item = {"maxLimitRequestRatio": {"cpu": "1500m"}}
    assert violations_of(limits(**item), pod({"requests": {"cpu": "2"}, "limits": {"cpu": "3"}})) == []
    assert len(violations_of(limits(**item), pod({"requests": {"cpu": "2"}, "limits": {"cpu": "3001m"}}))) == 1


def test_pod_bounds_apply_to_the_sum_of_containers():
    whole = limits(type="Pod", max={"memory": "1500Mi"})
    gib = {"limits": {"memory": "1000Mi"}}
    assert violations_of(whole, pod(gib)) == []
    assert violations_of(whole, pod(gib, gib)) == ["maximum memory usage per Pod is 1500Mi, but limit is 2000Mi"]
    assert violations_of(whole, pod(gib, inits=[{"limits": {"memory": "2Gi"}}])) == [
        "maximum memory usage per Pod is 1500Mi, but limit is 2Gi"
    ]


def test_pod_bounds_ignore_overhead():
    whole = limits(type="Pod", max={"cpu": "1"})
    assert violations_of(whole, pod({"limits": {"cpu": "1"}}, overhead={"cpu": "1"})) == []


@pytest.mark.parametrize(
    ("size", "text"),
    [
        ("6Gi", ["maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"]),
        ("500Mi", ["minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"]),
        ("5Gi", []),
        ("1Gi", []),
    ],
)
def test_claim_bounds_are_enforced(size, text):
    bounds = limits(type="PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "5Gi"})
    assert list(claim_violations({"spec": {"resources": {"requests": {"storage": size}}}}, bounds)) == text


def test_claim_without_a_size_violates_its_bounds():
    bounds = limits(type="PersistentVolumeClaim", max={"storage": "5Gi"})
    assert list(claim_violations({"spec": {}}, bounds)) == [
        "maximum storage usage per PersistentVolumeClaim is 5Gi.  No request is specified"
    ]


async def test_claim_expansion_beyond_its_bound_is_rejected():
    async with ranger() as server:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        await server.make(CLAIMS, spec=spec)
        await server.make(RANGES, **limits(type="PersistentVolumeClaim", max={"storage": "2Gi"}))
        bigger = {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
        bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        assert (await server.merge(f"{CLAIMS}/a/status", bound)).code == 200
        assert "but request is 3Gi" in refusal(await server.merge(f"{CLAIMS}/a", bigger))


async def test_pod_updates_are_ignored():
    async with ranger() as server:
        assert (await server.pod()).code == 201
        await server.make(RANGES, **limits(type="Pod", min={"cpu": "1"}))
        assert (await server.merge(f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}})).code == 200
        assert (await server.pod("b")).code == 403


# -- bounded work ------------------------------------------------------------------------------------------------------


class PodRejection(Plugin):
    """Plugin that rejects pods before their validation."""

    name = "PodSecurity"  # has its place behind LimitRanger

    def handles(self, resource, subresource, operation):
        return resource.name == "pods"

    def admit(self, attributes):
        raise attributes.forbidden("rejected")


@pytest.mark.parametrize(("count", "is_in_worker"), [(1, False), (6, True)])
async def test_many_ranges_fill_in_small_pods_in_a_worker(count, is_in_worker):
    async with Plugged(lambda stored: LimitRanger(stored("limitranges").cache), lambda _: PodRejection()) as server:
        for number in range(count):
            await server.make(RANGES, metadata={"name": f"r{number}"}, **limits(default={"cpu": "1"}))
        containers = [{"name": f"c{number}", "image": "i"} for number in range(2000)]
        creation = asyncio.create_task(server.pod(containers=containers))
        was_busy = False
        while not creation.done():
            was_busy |= are_workers_busy()
            await next_turn()
        assert refusal(creation.result()) == "rejected"
        assert was_busy is is_in_worker


@pytest.mark.parametrize("kind", ["Container", "Pod"])
def test_bounds_of_all_ranges_are_charged(kind):
    items = [{"type": kind, "max": {"cpu": "1"}} for _ in range(200)]
    obj = pod(*[{"limits": {"cpu": "1m"}, "requests": {"cpu": "1m"}}] * 10)
    with metered(Allowance(1000)), pytest.raises(WorkLimitError):
        violations_of({"spec": {"limits": items}}, obj)


def test_defaults_of_containers_are_charged():
    with metered(Allowance(1000)), pytest.raises(WorkLimitError):
        fill_in(pod(*[{}] * 400), limits(default={"cpu": "1"}))
