"""Cluster IPs and node ports: taken with the service, given back with it, never twice and never lost."""

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


async def test_a_service_gets_an_address_and_the_address_an_object():
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
async def test_some_services_have_no_address(spec: dict):
    cluster = Cluster()
    await cluster.create(**spec)
    assert await cluster.addresses() == set()


async def test_two_families_give_two_addresses_the_default_one_first():
    cluster = Cluster(FOUR, SIX)
    first, second = (await cluster.create(**DUAL))["spec"]["clusterIPs"]
    assert (first.startswith("10.96.0."), second.startswith("fd00:96::")) == (True, True)


async def test_an_address_that_is_asked_for_is_given():
    cluster = Cluster()
    await cluster.create(clusterIP="10.96.0.10")
    assert await cluster.addresses() == {"10.96.0.10"}


@pytest.mark.parametrize("ip", ["10.97.0.1", "10.96.0.0", "10.96.0.15"])
async def test_but_only_one_of_the_range(ip: str):
    assert await message_of(Cluster().create(clusterIP=ip)) == (
        f'Service "a" is invalid: spec.clusterIPs: Invalid value: ["{ip}"]: failed to allocate IP {ip}: {RANGE_WRONG}'
    )


async def test_and_only_once():
    cluster = Cluster()
    await cluster.create("first", clusterIP="10.96.0.10")
    assert await message_of(cluster.create(clusterIP="10.96.0.10")) == (
        'Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: '
        "failed to allocate IP 10.96.0.10: provided IP is already allocated"
    )


async def test_two_that_were_promised_the_same_address_do_not_both_get_it():
    cluster = Cluster()
    spec = {"ports": [{"port": 80}], "type": "ClusterIP", "ipFamilies": ["IPv4"], "clusterIP": "10.96.0.9"}
    spec["clusterIPs"] = [spec["clusterIP"]]
    wanted = [{"metadata": {"name": name, "namespace": "n"}, "spec": dict(spec)} for name in "ab"]
    first, second = [await cluster.allocator.for_create(context(), obj) for obj in wanted]
    await cluster.store.txn(first)
    with pytest.raises(Conflict):
        await cluster.store.txn(second)


async def test_a_full_range_says_so_and_one_that_goes_makes_room():
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
async def test_ranges_of_any_length_can_be_used_up_to_the_last_address(length: int):
    cluster = Cluster(f"10.96.0.0/{length}")
    size = min((1 << (32 - length)) - 2, 40)
    for number in range(size):
        await cluster.create(f"s{number}")
    assert len(await cluster.addresses()) == size


# -- ranges that objects add ----------------------------------------------------------------------------------------------


async def test_a_service_cidr_adds_addresses():
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
async def test_one_that_is_not_ready_or_goes_adds_none(parts: dict):
    cluster = Cluster()
    await cluster.add_range("more", "10.97.0.0/24", **parts)
    assert RANGE_WRONG in await message_of(cluster.create(clusterIP="10.97.0.5"))


@pytest.mark.parametrize("cidr", ["10.97.0.1/32", "10.97.0.0/31", "fd00::/48", "fd00::1/128"])
async def test_one_that_has_no_address_to_give_is_no_harm(cidr: str):
    cluster = Cluster()
    await cluster.add_range("more", cidr)
    assert (await cluster.create())["spec"]["clusterIP"].startswith("10.96.")


# -- node ports -----------------------------------------------------------------------------------------------------------


async def test_every_port_gets_a_port_on_the_nodes():
    cluster = Cluster()
    obj = await cluster.create(type="NodePort", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}])
    ports = {port["nodePort"] for port in obj["spec"]["ports"]}
    assert (len(ports), await cluster.node_ports()) == (2, ports)


async def test_ports_of_one_number_share_theirs():
    cluster = Cluster()
    ports = [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]
    obj = await cluster.create(type="NodePort", ports=ports)
    assert len({port["nodePort"] for port in obj["spec"]["ports"]}) == len(await cluster.node_ports()) == 1


async def test_a_port_that_is_asked_for_is_given_once():
    cluster = Cluster()
    wanted = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30005}]}
    await cluster.create("first", **wanted)
    assert await cluster.node_ports() == {30005}
    assert await message_of(cluster.create(**wanted)) == (
        'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 30005: provided port is already allocated'
    )


async def test_a_port_outside_the_range_is_refused():
    message = await message_of(Cluster().create(type="NodePort", ports=[{"port": 80, "nodePort": 80}]))
    assert message == (
        'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 80: '
        "provided port is not in the valid range. The range of valid ports is 30000-30031"
    )


async def test_a_full_range_of_ports_says_so():
    cluster = Cluster(ports=PortRange(30000, 30000))
    await cluster.create("first", type="NodePort")
    assert await message_of(cluster.create(type="NodePort")) == (
        "Internal error occurred: failed to allocate a nodePort: range is full"
    )


async def test_load_balancers_may_do_without_node_ports():
    cluster = Cluster()
    await cluster.create(type="LoadBalancer", allocateLoadBalancerNodePorts=False)
    assert await cluster.node_ports() == set()


async def test_local_traffic_needs_a_port_for_health_checks():
    cluster = Cluster()
    obj = await cluster.create(type="LoadBalancer", externalTrafficPolicy="Local")
    assert await cluster.node_ports() == {obj["spec"]["ports"][0]["nodePort"], obj["spec"]["healthCheckNodePort"]}
    changed = await cluster.update(obj, externalTrafficPolicy="Cluster")
    assert await cluster.node_ports() == {obj["spec"]["ports"][0]["nodePort"]}
    assert "healthCheckNodePort" not in changed["spec"]


async def test_the_port_for_health_checks_stays():
    cluster = Cluster()
    obj = await cluster.create(type="LoadBalancer", externalTrafficPolicy="Local")
    message = await message_of(cluster.update(obj, healthCheckNodePort=30031))
    assert message.endswith(
        "cannot change healthCheckNodePort on loadBalancer service with externalTraffic=Local during update"
    )


async def test_the_bitmap_is_written_only_if_it_is_as_it_was_read():
    cluster = Cluster()
    obj = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    (op,) = await cluster.allocator.for_create(context(), obj)
    assert (op.key, op.expected) == (NODE_PORTS_KEY, 0)
    await cluster.create("b", type="NodePort")
    with pytest.raises(Conflict):
        await cluster.store.txn([op])


# -- updates and deletes --------------------------------------------------------------------------------------------------


async def test_an_update_that_changes_nothing_writes_nothing_else():
    cluster = Cluster()
    obj = await cluster.create(type="NodePort")
    assert await cluster.allocator.for_update(context(), obj, obj) == []


async def test_what_is_not_needed_any_more_is_given_back():
    cluster = Cluster()
    obj = await cluster.create(type="NodePort")
    obj = await cluster.update(obj, type="ClusterIP")
    assert (len(await cluster.addresses()), await cluster.node_ports()) == (1, set())
    await cluster.update(obj, type="ExternalName", externalName="e.x", ports=None)
    assert await cluster.addresses() == set()


async def test_the_second_family_comes_and_goes():
    cluster = Cluster(FOUR, SIX)
    single = await cluster.create()
    dual = await cluster.update(single, **DUAL)
    assert await cluster.addresses() == set(dual["spec"]["clusterIPs"]) > set(single["spec"]["clusterIPs"])
    await cluster.update(dual, ipFamilyPolicy="SingleStack")
    assert await cluster.addresses() == set(single["spec"]["clusterIPs"])


async def test_an_address_of_somebody_else_is_left_alone():
    cluster = Cluster()
    obj = await cluster.create()
    parent = {"resource": "services", "namespace": "n", "name": "other"}
    ip = obj["spec"]["clusterIP"]
    value = json.dumps({"metadata": {"name": ip}, "spec": {"parentRef": parent}}).encode()
    await cluster.store.txn([Put(f"{ADDRESS_PREFIX}{ip}", value)])
    await cluster.delete(obj)
    assert await cluster.addresses() == {ip}


@pytest.mark.parametrize("spec", [{}, {"type": "NodePort"}, {"type": "LoadBalancer"}])
async def test_a_dry_run_takes_nothing(spec: dict):
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
    """Whatever is asked for and refused: what is taken is what the services have."""
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
def test_nothing_is_ever_lost_or_given_twice(script: list):
    asyncio.run(run(script))
