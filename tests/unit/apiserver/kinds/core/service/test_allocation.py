"""Allocation of cluster IPs and node ports: transactional, unique, and without leaks."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import STAMP, context
from tests.unit.apiserver.services import FOUR, SIX, Cluster, Refused

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.kinds.core.service.allocation import ADDRESS_PREFIX, NODE_PORTS_KEY
from steersman.apiserver.kinds.shared.allocation import PortRange
from steersman.storage.store import Conflict, Put

RANGE_WRONG = "the provided network does not match the current range"
DUAL = {"ipFamilyPolicy": "RequireDualStack"}


async def message_of(refused) -> str:
    with pytest.raises(StatusError) as caught:
        await refused
    return caught.value.message


async def test_create_allocates_address_and_ip_address_object():
    cluster = Cluster()
    obj = await cluster.create()
    (ip,) = obj["spec"]["clusterIPs"]
    kv = await cluster.store.get(f"{ADDRESS_PREFIX}{ip}")
    address = json.loads(kv.value)
    assert obj["spec"]["clusterIP"] == ip
    assert address["spec"] == {"parentRef": {"resource": "services", "namespace": "n", "name": "a"}}
    assert address["metadata"]["name"] == ip
    assert address["metadata"]["creationTimestamp"] == STAMP
    assert address["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }


@pytest.mark.parametrize("spec", [{"type": "ExternalName", "externalName": "e.x", "ports": []}, {"clusterIP": "None"}])
async def test_create_allocates_no_address_for_headless_and_external_name(spec: dict):
    cluster = Cluster()
    await cluster.create(**spec)
    assert await cluster.addresses() == set()


async def test_create_allocates_default_family_first_when_dual_stack():
    cluster = Cluster(FOUR, SIX)
    first, second = (await cluster.create(**DUAL))["spec"]["clusterIPs"]
    assert (first.startswith("10.96.0."), second.startswith("fd00:96::")) == (True, True)


async def test_create_allocates_requested_address():
    cluster = Cluster()
    await cluster.create(clusterIP="10.96.0.10")
    assert await cluster.addresses() == {"10.96.0.10"}


@pytest.mark.parametrize("ip", ["10.97.0.1", "10.96.0.0", "10.96.0.15"])
async def test_create_rejects_address_outside_of_range(ip: str):
    assert await message_of(Cluster().create(clusterIP=ip)) == (
        f'Service "a" is invalid: spec.clusterIPs: Invalid value: ["{ip}"]: failed to allocate IP {ip}: {RANGE_WRONG}'
    )


async def test_create_rejects_allocated_address():
    cluster = Cluster()
    await cluster.create("first", clusterIP="10.96.0.10")
    assert await message_of(cluster.create(clusterIP="10.96.0.10")) == (
        'Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: '
        "failed to allocate IP 10.96.0.10: provided IP is already allocated"
    )


async def test_concurrent_creates_with_same_address_conflict():
    cluster = Cluster()
    spec = {"ports": [{"port": 80}], "type": "ClusterIP", "ipFamilies": ["IPv4"], "clusterIP": "10.96.0.9"}
    spec["clusterIPs"] = [spec["clusterIP"]]
    objects = [{"metadata": {"name": name, "namespace": "n"}, "spec": dict(spec)} for name in "ab"]
    first, second = [await cluster.allocator.for_create(context(), obj) for obj in objects]
    await cluster.store.txn(first)
    with pytest.raises(Conflict):
        await cluster.store.txn(second)


async def test_create_fails_when_range_is_full_until_address_is_released():
    cluster = Cluster("10.96.0.0/30")
    first = await cluster.create("first")
    second = await cluster.create("second")
    assert await message_of(cluster.create()) == (
        "Internal error occurred: failed to allocate a serviceIP: range is full"
    )
    await cluster.delete(first)
    third = await cluster.create()
    assert third["spec"]["clusterIP"] == first["spec"]["clusterIP"] != second["spec"]["clusterIP"]


@pytest.mark.parametrize("length", range(22, 31))
async def test_ranges_of_any_prefix_length_are_allocated_completely(length: int):
    cluster = Cluster(f"10.96.0.0/{length}")
    size = min((1 << (32 - length)) - 2, 40)
    for number in range(size):
        await cluster.create(f"s{number}")
    assert len(await cluster.addresses()) == size


# -- ServiceCIDR objects --------------------------------------------------------------------------------------------


async def test_service_cidr_adds_range():
    cluster = Cluster("10.96.0.0/30")
    await cluster.add_range("more", "10.97.0.0/24")
    for number in range(3):
        await cluster.create(f"s{number}")
    assert len([ip for ip in await cluster.addresses() if ip.startswith("10.97.")]) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        {"metadata": {"name": "more", "deletionTimestamp": STAMP}},
    ],
    ids=["not ready", "going"],
)
async def test_service_cidr_that_is_unready_or_deleted_adds_no_range(parts: dict):
    cluster = Cluster()
    await cluster.add_range("more", "10.97.0.0/24", **parts)
    assert RANGE_WRONG in await message_of(cluster.create(clusterIP="10.97.0.5"))


@pytest.mark.parametrize("cidr", ["10.97.0.1/32", "10.97.0.0/31", "fd00::/48", "fd00::1/128"])
async def test_service_cidr_without_usable_address_is_ignored(cidr: str):
    cluster = Cluster()
    await cluster.add_range("more", cidr)
    assert (await cluster.create())["spec"]["clusterIP"].startswith("10.96.")


# -- node ports -----------------------------------------------------------------------------------------------------------


async def test_create_allocates_node_port_for_every_port():
    cluster = Cluster()
    obj = await cluster.create(type="NodePort", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}])
    ports = {port["nodePort"] for port in obj["spec"]["ports"]}
    assert (len(ports), await cluster.node_ports()) == (2, ports)


async def test_create_shares_node_port_between_protocols():
    cluster = Cluster()
    ports = [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]
    obj = await cluster.create(type="NodePort", ports=ports)
    assert len({port["nodePort"] for port in obj["spec"]["ports"]}) == len(await cluster.node_ports()) == 1


async def test_create_allocates_requested_node_port_once():
    cluster = Cluster()
    spec = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30005}]}
    await cluster.create("first", **spec)
    assert await cluster.node_ports() == {30005}
    assert await message_of(cluster.create(**spec)) == (
        'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 30005: provided port is already allocated'
    )


async def test_create_rejects_node_port_outside_of_range():
    message = await message_of(Cluster().create(type="NodePort", ports=[{"port": 80, "nodePort": 80}]))
    assert message == (
        'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 80: '
        "provided port is not in the valid range. The range of valid ports is 30000-30031"
    )


async def test_create_fails_when_port_range_is_full():
    cluster = Cluster(ports=PortRange(30000, 30000))
    await cluster.create("first", type="NodePort")
    assert await message_of(cluster.create(type="NodePort")) == (
        "Internal error occurred: failed to allocate a nodePort: range is full"
    )


async def test_create_skips_node_ports_when_load_balancer_disables_them():
    cluster = Cluster()
    await cluster.create(type="LoadBalancer", allocateLoadBalancerNodePorts=False)
    assert await cluster.node_ports() == set()


async def test_create_allocates_health_check_node_port_for_local_traffic_policy():
    cluster = Cluster()
    obj = await cluster.create(type="LoadBalancer", externalTrafficPolicy="Local")
    assert await cluster.node_ports() == {obj["spec"]["ports"][0]["nodePort"], obj["spec"]["healthCheckNodePort"]}
    changed = await cluster.update(obj, externalTrafficPolicy="Cluster")
    assert await cluster.node_ports() == {obj["spec"]["ports"][0]["nodePort"]}
    assert "healthCheckNodePort" not in changed["spec"]


async def test_update_rejects_change_of_health_check_node_port():
    cluster = Cluster()
    obj = await cluster.create(type="LoadBalancer", externalTrafficPolicy="Local")
    message = await message_of(cluster.update(obj, healthCheckNodePort=30031))
    assert message.endswith(
        "cannot change healthCheckNodePort on loadBalancer service with externalTraffic=Local during update"
    )


async def test_bitmap_write_conflicts_when_value_has_changed():
    cluster = Cluster()
    obj = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    (op,) = await cluster.allocator.for_create(context(), obj)
    assert (op.key, op.expected) == (NODE_PORTS_KEY, 0)
    await cluster.create("b", type="NodePort")
    with pytest.raises(Conflict):
        await cluster.store.txn([op])


# -- updates and deletes --------------------------------------------------------------------------------------------------


async def test_update_without_change_adds_no_operations():
    cluster = Cluster()
    obj = await cluster.create(type="NodePort")
    assert await cluster.allocator.for_update(context(), obj, obj) == []


async def test_update_releases_unneeded_values():
    cluster = Cluster()
    obj = await cluster.create(type="NodePort")
    obj = await cluster.update(obj, type="ClusterIP")
    assert (len(await cluster.addresses()), await cluster.node_ports()) == (1, set())
    await cluster.update(obj, type="ExternalName", externalName="e.x", ports=None)
    assert await cluster.addresses() == set()


async def test_update_allocates_and_releases_second_family():
    cluster = Cluster(FOUR, SIX)
    single = await cluster.create()
    dual = await cluster.update(single, **DUAL)
    assert await cluster.addresses() == set(dual["spec"]["clusterIPs"]) > set(single["spec"]["clusterIPs"])
    await cluster.update(dual, ipFamilyPolicy="SingleStack")
    assert await cluster.addresses() == set(single["spec"]["clusterIPs"])


async def test_delete_keeps_address_of_other_parent():
    cluster = Cluster()
    obj = await cluster.create()
    parent = {"resource": "services", "namespace": "n", "name": "other"}
    ip = obj["spec"]["clusterIP"]
    value = json.dumps({"metadata": {"name": ip}, "spec": {"parentRef": parent}}).encode()
    await cluster.store.txn([Put(f"{ADDRESS_PREFIX}{ip}", value)])
    await cluster.delete(obj)
    assert await cluster.addresses() == {ip}


@pytest.mark.parametrize("spec", [{}, {"type": "NodePort"}, {"type": "LoadBalancer"}])
async def test_dry_run_allocates_nothing(spec: dict):
    cluster = Cluster()
    obj = await cluster.create(dry_run=True, **spec)
    assert obj["spec"]["clusterIP"]
    assert (await cluster.addresses(), await cluster.node_ports()) == (set(), set())


steps = st.tuples(
    st.sampled_from(["create", "update", "delete"]),
    st.integers(0, 5),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"])},
        optional={
            "ipFamilyPolicy": st.sampled_from(["SingleStack", "PreferDualStack", "RequireDualStack"]),
            "externalTrafficPolicy": st.sampled_from(["Local", "Cluster"]),
            "allocateLoadBalancerNodePorts": st.booleans(),
            "ports": st.lists(
                st.sampled_from(
                    [
                        {"name": "a", "port": 80},
                        {"name": "b", "port": 81, "nodePort": 30001},
                        {"name": "c", "port": 80, "protocol": "UDP"},
                        {"name": "d", "port": 82, "nodePort": 30002},
                    ]
                ),
                min_size=1,
                max_size=3,
                unique_by=lambda port: port["name"],
            ),
        },
    ),
)


async def run(script: list) -> None:
    """Run a random script; assert that allocated values are exactly those of the Services."""
    cluster = Cluster("10.96.0.0/29", "fd00::/125", ports=PortRange(30000, 30007))
    services: dict[int, dict] = {}
    for verb, number, spec in script:
        old = services.get(number)
        try:
            if verb == "delete":
                await cluster.delete(services.pop(number, {"metadata": {"name": "none"}, "spec": {}}))
            elif old is None:
                services[number] = await cluster.create(f"s{number}", **spec)
            elif verb == "update":
                services[number] = await cluster.update(old, **spec)
        except (Refused, StatusError):
            pass
        specs = [service["spec"] for service in services.values()]
        ips = [ip for spec in specs for ip in spec.get("clusterIPs", ())]
        assert len(ips) == len(set(ips))
        assert await cluster.addresses() == set(ips)
        ports = [{port["nodePort"] for port in spec["ports"] if port.get("nodePort")} for spec in specs]
        ports += [{spec["healthCheckNodePort"]} for spec in specs if spec.get("healthCheckNodePort")]
        assert sum(map(len, ports)) == len(set().union(*ports))
        assert await cluster.node_ports() == set().union(*ports)


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=12))
def test_random_scripts_neither_leak_nor_duplicate_values(script: list):
    asyncio.run(run(script))
