import msgspec
import pytest
from lightkube.models.core_v1 import Node, Pod, Service
from lightkube.models.discovery_v1 import EndpointSlice

from steersman.client import tree
from steersman.client.objects import name_of
from steersman.controllers.endpoints import endpointslices
from steersman.controllers.endpoints.slice_plan import plan_slices
from steersman.controllers.endpoints.topology import HintedServices, NodeZones, is_requested

AUTO = {"service.kubernetes.io/topology-mode": "Auto"}


def node(name, zone="a", cpu="1", ready="True", **labels):
    labels |= {"topology.kubernetes.io/zone": zone} if zone else {}
    status = {"conditions": [{"type": "Ready", "status": ready}], "allocatable": {"cpu": cpu}}
    return msgspec.convert({"metadata": {"name": name, "labels": labels}, "status": status}, Node)


def service(annotations=AUTO, **spec):
    metadata = {"name": "web", "namespace": "ns", "uid": "s", "annotations": annotations}
    defaults = {"selector": {"app": "a"}, "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "ports": [{"port": 80}]}
    return msgspec.convert({"metadata": metadata, "spec": {**defaults, **spec}}, Service)


def pods_in(zones, *, unready=()):
    """Return a pod for each letter, on the node of that zone."""
    trees = []
    for number, zone in enumerate(zones):
        conditions = [{"type": "Ready", "status": str(number not in unready)}]
        status = {"phase": "Running", "podIPs": [{"ip": f"10.1.0.{number}"}], "conditions": conditions}
        metadata = {"name": f"p{number}", "namespace": "ns", "uid": f"u{number}", "labels": {"app": "a"}}
        trees.append({"metadata": metadata, "spec": {"containers": [], "nodeName": zone}, "status": status})
    return [msgspec.convert(tree, Pod) for tree in trees]


def planned(zones, shares, *, slices=(), unready=(), annotations=AUTO, max_endpoints=100, **spec):
    nodes = {zone: node(zone, "" if zone == "_" else zone) for zone in zones}
    pods = pods_in(zones, unready=unready)
    return plan_slices(
        service(annotations, **spec), pods, slices, nodes, max_endpoints=max_endpoints, zone_shares=shares
    )


def hinted(slices: list[EndpointSlice]) -> str:
    """Return the hinted zone of each endpoint, a dot without one."""
    endpoints = [endpoint for slice_ in slices for endpoint in slice_.endpoints or ()]
    return "".join(endpoint.hints.forZones[0].name if endpoint.hints else "." for endpoint in endpoints)


def stored(plan):
    """Return the slices to create with names, as stored."""
    return [
        msgspec.structs.replace(slice_, metadata=msgspec.structs.replace(slice_.metadata, name=f"made{number}"))
        for number, slice_ in enumerate(plan.changes.create)
    ]


@pytest.mark.parametrize(
    ("zones", "shares", "expected"),
    [
        ("aabb", {"a": 0.5, "b": 0.5}, "aabb"),
        ("aaab", {"a": 0.5, "b": 0.5}, "baab"),
        ("aaaaaabbc", {"a": 0.4, "b": 0.3, "c": 0.3}, "cbaaaabbc"),
        ("aaaa", {"a": 0.5, "b": 0.5}, "bbaa"),
        ("aabb", {"a": 0.55, "b": 0.45}, "aabb"),
    ],
)
def test_endpoints_are_hinted_to_their_zone_or_moved_to_zones_that_lack_endpoints(zones, shares, expected):
    plan = planned(zones, shares)
    assert hinted(plan.changes.create) == expected
    assert plan.hintings["IPv4"].zones == {zone: expected.count(zone) for zone in shares}


@pytest.mark.parametrize(
    ("zones", "shares", "reason"),
    [
        ("ab", None, "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"),
        ("a", {"a": 0.5, "b": 0.5}, "Insufficient number of endpoints (1 endpoints, 2 zones)"),
        (
            "aab",
            {"a": 0.1, "b": 0.45, "c": 0.45},
            (
                "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"
                " (3 endpoints, 3 zones)"
            ),
        ),
        ("a_bb", {"a": 0.5, "b": 0.5}, "One or more endpoints do not have a zone specified"),
    ],
)
def test_no_endpoint_is_hinted_when_hints_are_impossible(zones, shares, reason):
    plan = planned(zones, shares)
    assert hinted(plan.changes.create) == "." * len(zones)
    assert (plan.hintings["IPv4"].zones, plan.hintings["IPv4"].reason) == (None, reason)


def test_unready_endpoints_are_neither_hinted_nor_counted():
    assert hinted(planned("aaabb", {"a": 0.5, "b": 0.5}, unready={1}).changes.create) == "a.abb"
    assert planned("ab", {"a": 0.5, "b": 0.5}, unready={1}).hintings["IPv4"].zones is None


def test_unchanged_slices_keep_possible_hints_and_lose_others():
    halves = {"a": 0.5, "b": 0.5}
    slices = stored(planned("aaab", halves))
    again = planned("aaab", halves, slices=slices)
    assert (again.changes.create, again.changes.update) == ([], [])
    assert again.hintings["IPv4"].zones == {"a": 2, "b": 2}
    (moved,) = planned("aaab", {"a": 0.7, "c": 0.3}, slices=slices).changes.update
    assert (name_of(moved), hinted([moved])) == ("made0", "aaab")
    (lost,) = planned("aaab", None, slices=slices).changes.update
    assert hinted([lost]) == "...."


def test_each_slice_loses_its_hints_once_when_another_makes_hints_impossible():
    slices = stored(planned("aabb", {"a": 0.5, "b": 0.5}))
    changes = planned("aabb_", {"a": 0.6, "c": 0.4}, slices=slices, max_endpoints=4).changes
    assert [hinted([slice_]) for slice_ in changes.create] == ["."]
    assert [(name_of(slice_), hinted([slice_])) for slice_ in changes.update] == [("made0", "....")]


def test_the_annotation_wins_over_the_traffic_distribution():
    plan = planned("a", {"a": 0.5, "b": 0.5}, trafficDistribution="PreferSameZone")
    assert hinted(plan.changes.create) == "."
    other = planned("a", {"a": 0.5, "b": 0.5}, annotations={}, trafficDistribution="PreferSameZone")
    assert hinted(other.changes.create) == "a"
    assert other.hintings == {}


def test_slices_lose_their_hints_with_the_annotation():
    slices = stored(planned("ab", {"a": 0.5, "b": 0.5}))
    (changed,) = planned("ab", {"a": 0.5, "b": 0.5}, slices=slices, annotations={}).changes.update
    assert hinted([changed]) == ".."


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"service.kubernetes.io/topology-mode": "auto"}, True),
        ({"service.kubernetes.io/topology-mode": "AUTO"}, False),
        ({"service.kubernetes.io/topology-aware-hints": "Auto"}, True),
        ({**AUTO, "service.kubernetes.io/topology-aware-hints": "Disabled"}, False),
        (None, False),
    ],
)
def test_is_requested(annotations, expected):
    assert is_requested(service(annotations)) is expected


def test_node_zones_share_the_cpu_of_ready_workers():
    zones = NodeZones()
    assert zones.shares() is None
    assert zones.note(node("n1", "a", "1"))
    assert zones.shares() is None
    assert zones.note(node("n2", "b", "3"))
    assert not zones.note(node("n3", "c", ready="False"))
    assert not zones.note(node("n4", "c", **{"node-role.kubernetes.io/control-plane": ""}))
    assert zones.shares() == {"a": 0.25, "b": 0.75}
    assert not zones.note(node("n2", "b", "1"))
    assert zones.shares() == {"a": 0.5, "b": 0.5}
    assert zones.note(node("n5", ""))
    assert zones.shares() is None
    assert zones.note(node("n5", "", ready="False"))
    assert zones.shares() == {"a": 0.5, "b": 0.5}
    zones.remove("n2")
    assert zones.shares() is None


def test_services_are_overloaded_when_a_zone_lacks_endpoints():
    services = HintedServices()
    services.record("ns/web", "IPv4", {"a": 2, "b": 2})
    assert list(services.overloaded({"a": 0.5, "b": 0.5})) == []
    assert list(services.overloaded({"a": 0.7, "b": 0.3})) == ["ns/web"]
    assert list(services.overloaded({"a": 0.4, "b": 0.4, "c": 0.2})) == ["ns/web"]
    assert list(services.overloaded(None)) == ["ns/web"]
    services.forget("ns/web")
    assert list(services.overloaded(None)) == []


async def test_hints_follow_nodes_and_the_annotation(cluster, pod_spec):
    await cluster.start(endpointslices.build)
    metadata = {"annotations": AUTO}
    spec = {"ports": [{"port": 80}], "selector": {"app": "a"}}
    await cluster.make("v1", "Service", "web", namespace="default", metadata=metadata, spec=spec)
    await cluster.until(lambda: cluster.events("TopologyAwareHintsDisabled"))
    for number, zone in enumerate("ab"):
        labels = {"topology.kubernetes.io/zone": zone}
        status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "1"}}
        await cluster.make("v1", "Node", zone, metadata={"labels": labels}, status=status)
        ip = f"10.1.0.{number}"
        pod_status = {"phase": "Running", "podIPs": [{"ip": ip}], "podIP": ip}
        pod_status["conditions"] = [{"type": "Ready", "status": "True"}]
        await cluster.make("v1", "Pod", f"p{number}", namespace="default", metadata={"labels": {"app": "a"}},
                           spec={**pod_spec, "nodeName": zone}, status=pod_status)  # fmt: skip
    await cluster.until(lambda: cluster.events("TopologyAwareHintsEnabled"))
    await _hints_are(cluster, "ab")
    await cluster.client.patch(tree("v1", "Node"), "b", {"metadata": {"labels": {"topology.kubernetes.io/zone": None}}})
    await _hints_are(cluster, "..")


async def _hints_are(cluster, expected):
    async def is_so():
        slices = await cluster.client.list(tree("discovery.k8s.io/v1", "EndpointSlice"), namespace="default")
        return sorted(hinted([msgspec.convert(slice_, EndpointSlice) for slice_ in slices])) == sorted(expected)

    await cluster.until(is_so)
