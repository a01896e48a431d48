import asyncio
import random
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import msgspec
import pytest
from lightkube.models.core_v1 import Endpoints, EndpointSubset, Node, Pod, Service
from lightkube.models.discovery_v1 import Endpoint, EndpointSlice

from steersman.client import tree
from steersman.client.objects import annotations_of, labels_of, name_of
from steersman.controllers.endpoints import endpoints as endpoints_controller
from steersman.controllers.endpoints import endpointslices, mirroring
from steersman.controllers.endpoints.endpoints_plan import CAPACITY, OVER_CAPACITY, plan_endpoints
from steersman.controllers.endpoints.mirror_plan import is_mirrored, plan_mirror
from steersman.controllers.endpoints.packing import pack, ports_key
from steersman.controllers.endpoints.pods import (
    address_of,
    endpoint_attributes,
    hostname_of,
    may_be_endpoint,
    port_number,
)
from steersman.controllers.endpoints.services import families, has_endpoints, is_headless, slice_name_prefix
from steersman.controllers.endpoints.slice_plan import plan_slices
from steersman.controllers.endpoints.subsets import repacked
from steersman.controllers.endpoints.trigger import TriggerTimes

NODES = {"n": msgspec.convert({"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z"}}}, Node)}
CREATED_AT = "2026-01-01T00:00:00Z"


def service(*, labels=None, **spec):
    numbers = {
        "selector": {"app": "a"},
        "clusterIP": "10.0.0.1",
        "ipFamilies": ["IPv4"],
        "ports": [{"port": 80}],
        **spec,
    }
    metadata = {"name": "web", "namespace": "ns", "uid": "s", "labels": labels, "creationTimestamp": CREATED_AT}
    return msgspec.convert({"metadata": metadata, "spec": numbers}, Service)


def pod(name="p", ip="10.1.0.1", *, ready=True, deleted=False, phase="Running", node="n", since=None, **spec):
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": {"app": "a"}}
    metadata |= {"deletionTimestamp": CREATED_AT} if deleted else {}
    rows = [{"type": "Ready", "status": str(ready), "lastTransitionTime": since}]
    status = {"phase": phase, "podIPs": [{"ip": word} for word in ip.split()], "conditions": rows}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"containers": [], "nodeName": node, **spec}, "status": status}, Pod
    )


def planned(obj, pods, slices=(), nodes=NODES, max_endpoints=100):
    return plan_slices(obj, pods, slices, nodes, max_endpoints=max_endpoints)


def stored(changes):
    """Return the slices to create with names, as stored."""
    created = []
    for number, endpoint_slice in enumerate(changes.create):
        metadata = msgspec.structs.replace(endpoint_slice.metadata, name=f"made{number}")
        created.append(msgspec.structs.replace(endpoint_slice, metadata=metadata))
    return created


@pytest.mark.parametrize(
    ("obj", "terminating", "expected"),
    [
        (pod(), False, True),
        (pod(ip=""), False, False),
        (pod(phase="Failed"), True, False),
        (pod(deleted=True), False, False),
        (pod(deleted=True), True, True),
        (pod(ready=False), False, True),
    ],
)
def test_may_be_endpoint(obj, terminating, expected):
    assert may_be_endpoint(obj, terminating=terminating) is expected


def test_hostname_of_requires_the_subdomain_to_be_the_service():
    assert hostname_of(pod(hostname="h", subdomain="web"), service()) == "h"
    assert hostname_of(pod(hostname="h", subdomain="x"), service()) is None
    assert hostname_of(pod(), service()) is None


def test_address_of_returns_the_first_of_the_family():
    obj = pod(ip="10.1.0.1 fd00::1 10.1.0.2")
    assert [address_of(obj, family) for family in ("IPv4", "IPv6")] == ["10.1.0.1", "fd00::1"]
    assert address_of(pod(), "IPv6") == ""


def test_port_number_resolves_names_in_containers_and_sidecars():
    def container(name, number, **more):
        return {"name": name, "ports": [{"name": name, "containerPort": number}], **more}

    obj = pod(
        containers=[container("a", 1)], initContainers=[container("b", 2), container("c", 3, restartPolicy="Always")]
    )
    numbers = [
        port_number(obj, port)
        for port in service(ports=[{"port": 80, "targetPort": name} for name in ("a", "b", "c", 9)]).spec.ports
    ]
    assert numbers == [1, None, 3, 9]
    assert port_number(obj, service(ports=[{"port": 80, "targetPort": "a", "protocol": "UDP"}]).spec.ports[0]) is None


def test_endpoint_attributes_ignore_unrelated_changes():
    assert endpoint_attributes(pod(since=CREATED_AT)) == endpoint_attributes(pod())
    assert endpoint_attributes(pod(phase="Failed")) == endpoint_attributes(pod())
    assert endpoint_attributes(pod(ready=False)) != endpoint_attributes(pod())


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ipFamilies": None}, ["IPv4"]),
        ({"ipFamilies": None, "clusterIP": "fd00::1"}, ["IPv6"]),
        ({"ipFamilies": None, "clusterIP": "None"}, ["IPv4", "IPv6"]),
        ({"ipFamilies": ["IPv6", "IPv4"]}, ["IPv6", "IPv4"]),
    ],
)
def test_families(spec, expected):
    assert families(service(**spec)) == expected


def test_has_endpoints():
    assert has_endpoints(service())
    assert not has_endpoints(service(selector=None))
    assert not has_endpoints(service(type="ExternalName"))
    assert is_headless(service(clusterIP="None"))
    assert slice_name_prefix("web") == "web-"


def test_plan_slices_keeps_one_empty_slice_without_pods():
    first = planned(service(), [])
    (created,) = stored(first.changes)
    assert created.endpoints == []
    assert created.ports is None
    again = planned(service(), [], [created])
    assert [again.changes.create, again.changes.update, again.changes.delete] == [[], [], []]


def test_plan_slices_reuses_the_empty_slice():
    (empty,) = stored(planned(service(), []).changes)
    filled = planned(service(), [pod()], [empty]).changes
    assert [endpoint_slice.metadata.name for endpoint_slice in filled.update] == ["made0"]
    assert [endpoint.addresses for endpoint in filled.update[0].endpoints] == [["10.1.0.1"]]
    emptied = planned(service(), [pod(phase="Succeeded")], filled.update).changes
    assert [emptied.create, emptied.delete] == [[], []]
    assert emptied.update[0].endpoints == []


def test_plan_slices_reuses_only_the_name_of_a_slice():
    (empty,) = stored(planned(service(), []).changes)
    noted = msgspec.structs.replace(
        empty, metadata=msgspec.structs.replace(empty.metadata, annotations={"by": "a user"}, resourceVersion="7")
    )
    (filled,) = planned(service(), [pod()], [noted]).changes.update
    assert (name_of(filled), filled.metadata.resourceVersion) == (name_of(empty), "7")
    assert annotations_of(filled) == {}


@pytest.mark.parametrize(
    ("obj", "publishes", "expected"),
    [
        (pod(), False, (True, True, False)),
        (pod(ready=False), False, (False, False, False)),
        (pod(ready=False), True, (True, False, False)),
        (pod(deleted=True), False, (False, True, True)),
        (pod(deleted=True, ready=False), True, (True, False, True)),
    ],
)
def test_conditions_of_an_endpoint(obj, publishes, expected):
    changes = planned(service(publishNotReadyAddresses=publishes), [obj]).changes
    conditions = changes.create[0].endpoints[0].conditions
    assert (conditions.ready, conditions.serving, conditions.terminating) == expected


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        (None, {}),
        ("PreferClose", {"forZones": [{"name": "z"}]}),
        ("PreferSameZone", {"forZones": [{"name": "z"}]}),
        ("PreferSameNode", {"forZones": [{"name": "z"}], "forNodes": [{"name": "n"}]}),
    ],
)
def test_hints_follow_the_traffic_distribution(distribution, expected):
    changes = planned(service(trafficDistribution=distribution), [pod(), pod("q", "10.1.0.2", ready=False)]).changes
    first, second = changes.create[0].endpoints
    assert msgspec.to_builtins(first.hints) == (expected or None)
    assert second.hints is None


def test_plan_slices_skips_and_reports_pods_of_unknown_nodes():
    plan = planned(service(), [pod(node="x")])
    assert plan.skipped == ["skipping Pod p for Service ns/web: Node x Not Found"]
    assert planned(service(publishNotReadyAddresses=True), [pod(node="x")]).skipped == []


def test_plan_slices_deletes_slices_of_other_families_and_owners():
    (created,) = stored(planned(service(), [pod()]).changes)
    strange = msgspec.structs.replace(created, addressType="IPv6")
    assert planned(service(), [pod()], [created, strange]).changes.delete == [strange]
    owner = msgspec.structs.replace(created.metadata.ownerReferences[0], uid="old")
    orphan = msgspec.structs.replace(
        created, metadata=msgspec.structs.replace(created.metadata, ownerReferences=[owner])
    )
    changes = planned(service(), [pod()], [orphan]).changes
    assert (len(changes.create), changes.delete) == (1, [orphan])


def test_slices_get_the_labels_of_the_service():
    (created,) = stored(planned(service(labels={"team": "a"}), [pod()]).changes)
    changed = planned(service(labels={"team": "b", "service.kubernetes.io/headless": "x"}), [pod()], [created]).changes
    assert labels_of(changed.update[0])["team"] == "b"
    assert "service.kubernetes.io/headless" not in labels_of(changed.update[0])


def test_plan_slices_creates_nothing_for_a_terminating_service():
    obj = service()
    going = msgspec.structs.replace(obj.metadata, deletionTimestamp=datetime(2026, 1, 1, tzinfo=UTC))
    assert planned(msgspec.structs.replace(obj, metadata=going), [pod()]).changes.create == []


def endpoint(number):
    return Endpoint(addresses=[f"10.0.{number // 256}.{number % 256}"])


def slice_of(name, numbers):
    return msgspec.convert({"addressType": "IPv4", "metadata": {"name": name, "labels": {}},
                            "endpoints": [{"addresses": endpoint(number).addresses} for number in numbers]}, EndpointSlice)  # fmt: skip


def made_of(endpoints):
    return EndpointSlice(addressType="IPv4", endpoints=endpoints)


def sizes(existing, numbers, most):
    changes = pack(
        existing, [endpoint(endpoint_slice) for endpoint_slice in numbers], labels={}, make=made_of, max_endpoints=most
    )
    return (
        {endpoint_slice.metadata.name: len(endpoint_slice.endpoints) for endpoint_slice in changes.update},
        [len(endpoint_slice.endpoints) for endpoint_slice in changes.create],
        [endpoint_slice.metadata.name for endpoint_slice in changes.delete],
    )


@pytest.mark.parametrize(
    ("existing", "target", "expected"),
    [
        ({}, range(25), ({}, [10, 10, 5], [])),
        ({"a": range(10)}, range(10), ({}, [], [])),
        ({"a": range(8), "b": range(10, 15)}, [*range(8), *range(10, 15), 20], ({"a": 9}, [], [])),
        ({"a": range(8), "b": range(10, 15)}, [*range(8), *range(10, 15), 20, 21, 22], ({"b": 8}, [], [])),
        ({"a": range(8), "b": range(10, 15)}, [*range(7), *range(10, 15), 20, 21, 22, 23], ({"a": 10, "b": 6}, [], [])),
        ({"a": range(8), "b": range(10, 15)}, range(8), ({}, [], ["b"])),
        ({"a": range(10)}, range(11), ({}, [1], [])),
        ({"a": range(8)}, range(11), ({"a": 10}, [1], [])),
        ({"a": range(8), "b": range(10, 15)}, [*range(8), *range(10, 15), *range(20, 30)], ({"a": 10}, [8], [])),
    ],
)
def test_pack_changes_few_slices(existing, target, expected):
    assert sizes([slice_of(name, numbers) for name, numbers in existing.items()], target, 10) == expected


@pytest.mark.parametrize("seed", range(50))
def test_pack_has_each_endpoint_once_within_the_limit(seed):
    dice = random.Random(seed)
    existing = []
    for _ in range(20):
        numbers = dice.sample(range(60), dice.randrange(60))
        changes = pack(
            existing, [endpoint(endpoint_slice) for endpoint_slice in numbers], labels={}, make=made_of, max_endpoints=7
        )
        changed_names = {endpoint_slice.metadata.name for endpoint_slice in [*changes.delete, *changes.update]}
        unchanged = [endpoint_slice for endpoint_slice in existing if endpoint_slice.metadata.name not in changed_names]
        fresh = [
            msgspec.structs.replace(endpoint_slice, metadata=slice_of(f"s{dice.random()}", ()).metadata)
            for endpoint_slice in changes.create
        ]
        existing = [*unchanged, *changes.update, *fresh]
        addresses = sorted(endpoint.addresses for result in existing for endpoint in result.endpoints)
        assert addresses == sorted(endpoint(endpoint_slice).addresses for endpoint_slice in numbers)
        assert all(0 < len(result.endpoints) <= 7 for result in existing)


def test_trigger_time_is_the_earliest_change():
    times = TriggerTimes()
    assert times.last_change_trigger_time("k", service(), [pod(since="2026-01-01T00:00:05Z")]) == CREATED_AT
    assert times.last_change_trigger_time("k", service(), [pod(since="2026-01-01T00:00:05Z")]) is None
    pods = [pod(since="2026-01-01T00:00:09Z"), pod("q", since="2026-01-01T00:00:07Z"), pod("r")]
    assert times.last_change_trigger_time("k", service(), pods) == "2026-01-01T00:00:07Z"
    times.forget("k")
    assert times.last_change_trigger_time("k", service(), []) == CREATED_AT


def subset(ready="", unready="", *ports):
    rows = {"ports": [{"port": port} for port in ports]}
    for name, texts in (("addresses", ready), ("notReadyAddresses", unready)):
        rows[name] = [{"ip": word} for word in texts.split()]
    return msgspec.convert(rows, EndpointSubset)


@pytest.mark.parametrize(
    ("subsets", "expected"),
    [
        (
            [subset("b a", "", 1), subset("a", "", 2), subset("c b", "", 1)],
            [(["a", "b", "c"], [], [1]), (["a"], [], [2])],
        ),
        ([subset("a b", "", 1), subset("b", "", 2), subset("a", "", 2)], [(["a", "b"], [], [1, 2])]),
        ([subset("a c", "", 1), subset("", "c", 1)], [(["a"], ["c"], [1])]),
        ([subset("a", "", 1), subset("", "a", 2)], [(["a"], [], [1]), ([], ["a"], [2])]),
        ([subset("a"), subset("", "", 1)], [(["a"], [], [])]),
    ],
)
def test_repacked_merges_ports_with_equal_addresses(subsets, expected):
    shown = [
        (
            [address.ip for address in row.addresses or ()],
            [not_ready_address.ip for not_ready_address in row.notReadyAddresses or ()],
            [port.port for port in row.ports or ()],
        )
        for row in repacked(subsets)
    ]
    assert shown == expected


def test_plan_endpoints():
    plan = plan_endpoints(service(labels={"x": "y"}), [pod(), pod("q", "10.1.0.2", ready=False)], None, CREATED_AT)
    (only,) = plan.subsets
    assert [address.ip for address in only.addresses] == ["10.1.0.1"]
    assert [not_ready_address.ip for not_ready_address in only.notReadyAddresses] == ["10.1.0.2"]
    assert labels_of(plan) == {"x": "y", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert annotations_of(plan) == {"endpoints.kubernetes.io/last-change-trigger-time": CREATED_AT}
    assert plan_endpoints(service(labels={"x": "y"}), [pod(), pod("q", "10.1.0.2", ready=False)], plan, None) is None
    assert plan_endpoints(service(), [pod(deleted=True)], plan, None).subsets is None


@pytest.mark.parametrize(
    ("ready", "unready", "expected"), [(900, 200, (900, 100)), (1200, 50, (1000, 0)), (1000, 0, (1000, 0))]
)
def test_plan_endpoints_truncates_at_the_capacity(ready, unready, expected):
    pods = [
        pod(f"p{number}", f"10.1.{number // 250}.{number % 250}", ready=number < ready)
        for number in range(ready + unready)
    ]
    plan = plan_endpoints(service(), pods, None, None)
    counted = [
        sum(len(getattr(row, name) or ()) for row in plan.subsets) for name in ("addresses", "notReadyAddresses")
    ]
    assert tuple(counted) == expected
    assert (annotations_of(plan).get(OVER_CAPACITY) == "truncated") is (ready + unready > CAPACITY)
    assert plan_endpoints(service(), pods, plan, None) is None


def mirrored(*subsets, **metadata):
    return Endpoints(
        metadata=msgspec.convert(
            {"metadata": {"name": "web", "namespace": "ns", "uid": "e", **metadata}}, Pod
        ).metadata,
        subsets=list(subsets),
    )


def test_plan_mirror_has_one_slice_per_family_and_ports():
    plan = plan_mirror(
        mirrored(subset("192.0.2.1 2001:db8::1 x", "", 80), subset("", "192.0.2.2", 81)), [], max_per_subset=9
    )
    shown = sorted(
        (endpoint_slice.addressType, len(endpoint_slice.endpoints), endpoint_slice.endpoints[0].conditions.ready)
        for endpoint_slice in plan.changes.create
    )
    assert shown == [("IPv4", 1, False), ("IPv4", 1, True), ("IPv6", 1, True)]
    assert (plan.invalid, plan.skipped) == (1, 1)
    slices = stored(plan.changes)
    again = plan_mirror(mirrored(subset("192.0.2.1", "", 80)), slices, max_per_subset=9).changes
    assert (again.create, again.update, len(again.delete)) == ([], [], 2)
    changed = plan_mirror(mirrored(subset("192.0.2.9", "", 82)), slices[:1], max_per_subset=9).changes
    assert [ports_key(endpoint_slice.ports)[0][1] for endpoint_slice in changed.update] == [82]


def test_plan_mirror_copies_no_trigger_time():
    trigger = {"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z", "note": "copied"}
    endpoints = mirrored(subset("192.0.2.1", "", 80), annotations=trigger)
    (created,) = plan_mirror(endpoints, [], max_per_subset=9).changes.create
    assert annotations_of(created) == {"note": "copied"}


def test_plan_mirror_updates_a_slice_without_generate_name():
    slices = stored(plan_mirror(mirrored(subset("192.0.2.1", "", 80)), [], max_per_subset=9).changes)
    (updated,) = plan_mirror(mirrored(subset("192.0.2.9", "", 80)), slices, max_per_subset=9).changes.update
    assert (name_of(updated), updated.metadata.generateName) == (name_of(slices[0]), None)


def test_plan_mirror_limits_addresses_per_subset():
    plan = plan_mirror(mirrored(subset("192.0.2.1 192.0.2.2 192.0.2.3", "", 80)), [], max_per_subset=2)
    assert len(plan.changes.create[0].endpoints) == 2
    assert plan.skipped == 1


@pytest.mark.parametrize(
    ("metadata", "spec", "expected"),
    [
        ({}, {"selector": None}, True),
        ({}, {}, False),
        ({"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}, {"selector": None}, False),
        ({"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}, {"selector": None}, False),
    ],
)
def test_should_mirror(metadata, spec, expected):
    assert is_mirrored(mirrored(**metadata), service(**spec)) is expected
    assert not is_mirrored(mirrored(**metadata), None)


SLICES = tree("discovery.k8s.io/v1", "EndpointSlice")


async def slices_are(cluster, numbers):
    """Return the addresses of all slices, sorted in each slice."""

    async def is_so():
        endpoint_slices = await cluster.client.list(SLICES, namespace="default")
        shown = sorted(
            sorted(row["addresses"][0] for row in endpoint_slice.get("endpoints") or ())
            for endpoint_slice in endpoint_slices
        )
        return shown == numbers

    await cluster.until(is_so)


async def make_service(cluster, **spec):
    numbers = {"ports": [{"port": 80}], "selector": {"app": "a"}, **spec}
    await cluster.make("v1", "Service", "web", namespace="default", spec=numbers)


async def make_pod(cluster, pod_spec, name, ip):
    status = {
        "phase": "Running",
        "podIPs": [{"ip": ip}],
        "podIP": ip,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    await cluster.make("v1", "Pod", name, namespace="default", metadata={"labels": {"app": "a"}},
                       spec={**pod_spec, "nodeName": "n"}, status=status)  # fmt: skip


async def test_endpointslices_follow_pods_and_wait_for_nodes(cluster, pod_spec):
    await cluster.start(endpointslices.build, max_endpoints_per_slice=2)
    await make_service(cluster)
    await slices_are(cluster, [[]])
    await make_pod(cluster, pod_spec, "p", "10.1.0.1")
    await cluster.until(lambda: cluster.events("FailedToUpdateEndpointSlices"))
    await cluster.make("v1", "Node", "n")
    await slices_are(cluster, [["10.1.0.1"]])
    await make_pod(cluster, pod_spec, "p2", "10.1.0.2")
    await slices_are(cluster, [["10.1.0.1", "10.1.0.2"]])
    await make_pod(cluster, pod_spec, "p3", "10.1.0.3")
    await slices_are(cluster, [["10.1.0.1", "10.1.0.2"], ["10.1.0.3"]])
    await cluster.client.delete(tree("v1", "Pod"), "p", namespace="default", grace_period_seconds=0)
    await slices_are(cluster, [["10.1.0.2"], ["10.1.0.3"]])


async def test_endpoints_follow_pods_and_are_repaired(cluster, pod_spec):
    await cluster.start(endpoints_controller.build)
    await make_service(cluster)
    await make_pod(cluster, pod_spec, "p", "10.1.0.1")
    reference = ("v1", "Endpoints", "web")

    def is_right(obj):
        return obj is not None and [row["ip"] for row in (obj.get("subsets") or [{}])[0].get("addresses", ())] == [
            "10.1.0.1"
        ]

    await cluster.eventually(*reference, is_right, namespace="default")
    await cluster.client.patch(tree("v1", "Endpoints"), "web", {"subsets": None}, namespace="default")
    await cluster.eventually(*reference, is_right, namespace="default")
    await cluster.client.delete(tree("v1", "Service"), "web", namespace="default")
    await cluster.eventually(*reference, lambda obj: obj is None, namespace="default")


async def test_mirrors_follow_endpoints_of_services_without_selector(cluster):
    await cluster.start(mirroring.build)
    subsets = [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 1}]}]
    await cluster.make("v1", "Endpoints", "web", namespace="default", subsets=subsets)
    await make_service(cluster, selector=None)
    await slices_are(cluster, [["192.0.2.1"]])
    await cluster.client.patch(tree("v1", "Service"), "web", {"spec": {"selector": {"app": "a"}}}, namespace="default")
    await slices_are(cluster, [])


@asynccontextmanager
async def disconnected(informer):
    """Stop the reflector of an informer; afterwards it lists again, as the versions that it missed have expired."""
    (reflecting,) = informer._supervisor._tasks
    reflecting.cancel()
    await asyncio.wait([reflecting])
    yield
    informer._reflector.position.forget()
    informer._supervisor.start("reflector", informer._reflector.run())


@pytest.mark.parametrize(
    ("build", "cache", "created"),
    [
        (endpoints_controller.build, "_endpoints", tree("v1", "Endpoints")),
        (endpointslices.build, "_slices", tree("discovery.k8s.io/v1", "EndpointSlice")),
    ],
)
async def test_slice_deleted_during_a_disconnect_is_recreated(cluster, build, cache, created):
    controller = await cluster.start(build)

    async def listed():
        return await cluster.client.list(created, namespace="default")

    async with disconnected(getattr(controller, cache)):
        await make_service(cluster)
        (first,) = await cluster.until(listed)
        await cluster.client.delete_object(first)
        await cluster.clock.advance(20)
        assert await listed() == []  # the cache does not have the slice: it might still exist
    await cluster.until(listed)
