"""Repairs by the loops of a ready server, and their deadlines."""

import pytest

from steersman.apiserver.kinds.core.service.node_port_registry import NodePortRegistry
from steersman.apiserver.kinds.shared.allocation import PortRange
from steersman.asynckit.clock import FakeClock
from steersman.client import tree
from steersman.client.errors import NotFound
from steersman.controlplane.bootstrap import loops  # noqa: F401 — loaded, so that the server needs no thread for it
from steersman.controlplane.options import APIServerOptions
from steersman.storage.memory import MemoryStore
from steersman.testing import InProcessAPIServer

NAMESPACES, SERVICES, EVENTS = tree("v1", "Namespace"), tree("v1", "Service"), tree("events.k8s.io/v1", "Event")
ENDPOINTS, SLICES = tree("v1", "Endpoints"), tree("discovery.k8s.io/v1", "EndpointSlice")
ADDRESSES, CIDRS = tree("networking.k8s.io/v1", "IPAddress"), tree("networking.k8s.io/v1", "ServiceCIDR")
LEASES = tree("coordination.k8s.io/v1", "Lease")
ROLES = tree("rbac.authorization.k8s.io/v1", "ClusterRole")
LEVELS = tree("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration")
SCHEMAS = tree("flowcontrol.apiserver.k8s.io/v1", "FlowSchema")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def server(clock):
    options = APIServerOptions(ephemeral=True, advertise_address="192.0.2.1", kubernetes_service_node_port=30443)
    store = MemoryStore(clock=clock)
    async with InProcessAPIServer(options=options, store=store, clock=clock, with_bootstrap_controller=True) as started:
        await pass_seconds(clock, 1)
        yield started


@pytest.fixture
def client(server):
    return server.core.bootstrap.client


async def pass_seconds(clock, seconds):
    for _ in range(int(seconds * 10)):
        await clock.advance(0.1)


def service(name, **spec):
    metadata = {"namespace": "default", "name": name}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}], **spec}}


def address(ip, owner, **labels):
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": ip, "labels": labels},
        "spec": {"parentRef": {"resource": "services", "namespace": "default", "name": owner}},
    }


MANAGED = {"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}


async def events(client, name):
    return [
        (event["reason"], event["reportingController"], event["note"])
        for event in await client.list(EVENTS)
        if event["regarding"]["name"] == name
    ]


# -- namespaces, Service, endpoints ------------------------------------------------------------------------------------


async def test_deleted_system_namespace_is_recreated_within_a_second(server, client, clock):
    await client.delete(NAMESPACES, "kube-node-lease")
    terminating = await client.get(NAMESPACES, "kube-node-lease")
    terminating["spec"]["finalizers"] = []
    await client.update_subresource(NAMESPACES, "kube-node-lease", "finalize", terminating)
    await pass_seconds(clock, 1)
    assert (await client.get(NAMESPACES, "kube-node-lease"))["metadata"]["uid"] != terminating["metadata"]["uid"]


async def test_deleted_service_is_recreated_within_a_second(client, clock):
    await client.delete(SERVICES, "kubernetes", namespace="default")
    await pass_seconds(clock, 1)
    obj = await client.get(SERVICES, "kubernetes", namespace="default")
    assert (obj["spec"]["clusterIP"], obj["spec"]["ports"][0]["nodePort"]) == ("10.0.0.1", 30443)


async def test_changed_service_is_corrected_within_a_second(client, clock):
    """Upstream corrects ports and type at its start only."""
    patch = {"spec": {"type": "ClusterIP", "selector": {"app": "x"}, "ports": [{"port": 443, "targetPort": 1}]}}
    await client.patch(SERVICES, "kubernetes", patch, namespace="default", field_manager="kubectl")
    await pass_seconds(clock, 1)
    spec = (await client.get(SERVICES, "kubernetes", namespace="default"))["spec"]
    assert (spec["type"], spec["ports"][0]["targetPort"], spec.get("selector")) == ("NodePort", 6443, None)


@pytest.mark.parametrize("resource", [ENDPOINTS, SLICES])
async def test_deleted_endpoints_and_slice_are_recreated_within_a_second(client, clock, resource):
    await client.delete(resource, "kubernetes", namespace="default")
    await pass_seconds(clock, 1)
    assert await client.get(resource, "kubernetes", namespace="default")


async def test_changed_endpoints_are_corrected_within_a_second(client, clock):
    patch = {"subsets": [{"addresses": [{"ip": "192.0.2.66"}], "ports": [{"port": 1}]}]}
    await client.patch(ENDPOINTS, "kubernetes", patch, namespace="default", field_manager="kubectl")
    await pass_seconds(clock, 1)
    (subset,) = (await client.get(ENDPOINTS, "kubernetes", namespace="default"))["subsets"]
    assert subset == {
        "addresses": [{"ip": "192.0.2.1"}],
        "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
    }


async def test_idle_loops_write_only_the_identity_lease(server, clock):
    await pass_seconds(clock, 11)
    before = server.store.revision
    await pass_seconds(clock, 60)
    assert server.store.revision - before in (5, 6)  # each interval of 10 s has up to 4 % of jitter


async def test_identity_lease_is_renewed_by_the_heartbeat_with_its_metrics(server, client, clock):
    (lease,) = await client.list(LEASES, namespace="kube-system")
    await pass_seconds(clock, 11)
    (renewed,) = await client.list(LEASES, namespace="kube-system")
    assert renewed["spec"]["renewTime"] > lease["spec"]["renewTime"]
    assert renewed["spec"]["holderIdentity"] == server.core.bootstrap.identity.holder
    text = (await server.request("GET", "/metrics")).body.decode()
    assert 'lease_heartbeat_renew_duration_seconds_count{namespace="kube-system"}' in text
    assert 'lease_heartbeat_age_seconds{namespace="kube-system"}' in text


async def test_identity_lease_of_an_earlier_run_is_taken_over(server, client, clock):
    (lease,) = await client.list(LEASES, namespace="kube-system")
    foreign = {"metadata": {"labels": {"kubernetes.io/hostname": "old"}}, "spec": {"holderIdentity": "old"}}
    await client.patch(LEASES, lease["metadata"]["name"], foreign, namespace="kube-system")
    await pass_seconds(clock, 11)
    (taken,) = await client.list(LEASES, namespace="kube-system")
    assert taken["spec"]["holderIdentity"] == server.core.bootstrap.identity.holder
    assert taken["metadata"]["labels"] == lease["metadata"]["labels"]


# -- addresses ---------------------------------------------------------------------------------------------------------


async def test_deleted_ip_address_is_recreated_with_an_event(client, clock):
    created = await client.create(service("a"))
    ip = created["spec"]["clusterIP"]
    await client.delete(ADDRESSES, ip)
    await pass_seconds(clock, 2)
    assert (await client.get(ADDRESSES, ip))["spec"]["parentRef"]["name"] == "a"
    note = f"Cluster IP [IPv4]: {ip} is not allocated; repairing"
    assert await events(client, "a") == [("ClusterIPNotAllocated", "ipallocator-repair-controller", note)]


async def test_ip_address_without_service_is_deleted_after_its_grace_period(client, clock):
    await client.create(address("10.0.0.77", "gone", **MANAGED))
    await pass_seconds(clock, 59)
    assert await client.get(ADDRESSES, "10.0.0.77")
    await pass_seconds(clock, 4)
    with pytest.raises(NotFound):
        await client.get(ADDRESSES, "10.0.0.77")


async def test_ip_address_with_wrong_parent_is_replaced(client, clock):
    created = await client.create(service("a"))
    ip = created["spec"]["clusterIP"]
    await client.delete(ADDRESSES, ip)
    await client.create(address(ip, "somebody", **MANAGED))
    await pass_seconds(clock, 3)
    assert (await client.get(ADDRESSES, ip))["spec"]["parentRef"]["name"] == "a"


async def test_changing_services_cause_no_repair(server, client, clock):
    """The caches of Services and addresses are never equally new."""
    for number in range(5):
        await client.create(service(f"s{number}"))
        await client.patch(SERVICES, f"s{number}", {"spec": {"type": "NodePort"}}, namespace="default")
        await client.patch(
            SERVICES, f"s{number}", {"spec": {"type": "ExternalName", "externalName": "x.io"}}, namespace="default"
        )
        await client.delete(SERVICES, f"s{number}", namespace="default")
    await pass_seconds(clock, 3)
    text = (await server.request("GET", "/metrics")).body.decode()
    assert "apiserver_clusterip_repair_reconcile_errors_total 0" in text
    assert "apiserver_clusterip_repair_ip_errors_total{" not in text


# -- ports -------------------------------------------------------------------------------------------------------------


async def test_leaked_node_port_is_released_after_several_passes(server, client, clock):
    registry = NodePortRegistry(server.store, PortRange(30000, 32767))
    await registry.change(await registry.read(), take=[30123], release=[])
    await pass_seconds(clock, 180 * 3)
    assert 30123 in (await registry.read()).ports
    await pass_seconds(clock, 180 * 2)
    assert 30123 not in (await registry.read()).ports


async def test_unallocated_node_port_is_allocated_with_an_event(server, client, clock):
    created = await client.create(service("a", type="NodePort"))
    port = created["spec"]["ports"][0]["nodePort"]
    registry = NodePortRegistry(server.store, PortRange(30000, 32767))
    await registry.change(await registry.read(), take=[], release=[port])
    await pass_seconds(clock, 200)
    assert port in (await registry.read()).ports
    event = ("PortNotAllocated", "portallocator-repair-controller", f"Port {port} is not allocated; repairing")
    assert event in await events(client, "a")


# -- ranges ------------------------------------------------------------------------------------------------------------


def cidr(name, *cidrs):
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": name},
        "spec": {"cidrs": list(cidrs)},
    }


async def test_service_cidr_is_deleted_after_its_last_address(client, clock):
    await client.create(cidr("more", "10.9.0.0/24"))
    await pass_seconds(clock, 1.5)
    result = await client.get(CIDRS, "more")
    assert result["metadata"]["finalizers"] == ["networking.k8s.io/service-cidr-finalizer"]
    assert result["status"]["conditions"][0]["status"] == "True"
    await client.create(service("a", clusterIP="10.9.0.7"))
    await client.delete(CIDRS, "more")
    await pass_seconds(clock, 3)
    assert (await client.get(CIDRS, "more"))["status"]["conditions"][0]["reason"] == "Terminating"
    await client.delete(SERVICES, "a", namespace="default")
    await pass_seconds(clock, 3)
    with pytest.raises(NotFound):
        await client.get(CIDRS, "more")


async def test_new_service_cidr_can_be_updated_by_its_creator(client, clock):
    created = await client.create(cidr("more", "10.9.0.0/24"))
    await pass_seconds(clock, 0.5)
    await client.update({**created, "spec": {"cidrs": ["10.9.0.0/24", "fd00::/112"]}})


async def test_deleted_default_service_cidr_is_recreated_within_a_second(client, clock):
    await client.delete(CIDRS, "kubernetes")
    await pass_seconds(clock, 1)
    assert (await client.get(CIDRS, "kubernetes"))["status"]["conditions"][0]["status"] == "True"


async def test_default_service_cidr_that_differs_from_the_flag_gets_an_event(client, clock):
    patch = {"spec": {"cidrs": ["10.0.0.0/24", "fd00::/112"]}}
    await client.patch(CIDRS, "kubernetes", patch)
    await pass_seconds(clock, 2)
    note = "The default ServiceCIDR [10.0.0.0/24 fd00::/112] does not match the flag configurations [10.0.0.0/24]"
    assert ("KubernetesDefaultServiceCIDRInconsistent", "service-cidr-controller", note) in await events(
        client, "kubernetes"
    )


# -- periodic repairs -------------------------------------------------------------------------------------------------


async def test_expired_identity_leases_are_deleted(client, clock):
    metadata = {
        "namespace": "kube-system",
        "name": "apiserver-gone",
        "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"},
    }
    spec = {"holderIdentity": "x", "leaseDurationSeconds": 3600, "renewTime": "2025-12-31T00:00:00.000000Z"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
    await client.create(lease)
    own = len(await client.list(LEASES, namespace="kube-system"))
    for _ in range(400):
        await clock.advance(10)
    names = [one["metadata"]["name"] for one in await client.list(LEASES, namespace="kube-system")]
    assert ("apiserver-gone" in names, len(names)) == (False, own - 1)


async def test_deleted_identity_lease_is_recreated(client, clock):
    (lease,) = await client.list(LEASES, namespace="kube-system")
    await client.delete(LEASES, lease["metadata"]["name"], namespace="kube-system")
    await pass_seconds(clock, 12)
    assert len(await client.list(LEASES, namespace="kube-system")) == 1


@pytest.mark.parametrize(
    ("resource", "name"), [(ROLES, "view"), (LEVELS, "workload-low"), (SCHEMAS, "service-accounts")]
)
async def test_deleted_roles_and_flow_control_are_recreated_within_70_seconds(client, clock, resource, name):
    await client.delete(resource, name)
    await pass_seconds(clock, 70)
    assert await client.get(resource, name)


async def test_metrics_contain_the_controllers(server):
    text = (await server.request("GET", "/metrics")).body.decode()
    assert 'controller_runtime_reconcile_total{controller="system-namespaces",result="requeue_after"}' in text
    assert "workqueue_depth{" in text


async def test_service_cidr_conditions_have_the_field_managers_of_upstream(client, clock):
    await client.create(cidr("more", "10.9.0.0/24"))
    await pass_seconds(clock, 1.5)
    managers = {
        entry["manager"]: entry["operation"] for entry in (await client.get(CIDRS, "more"))["metadata"]["managedFields"]
    }
    assert managers["service-cidr-controller"] == "Apply"
    assert managers["kube-controller-manager"] == "Update"
