"""Strategy of Services."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, error_texts, is_idempotent, tree
from tests.unit.apiserver.services import FOUR, SIX, Cluster, Refused

from steersman.apimachinery.errors import StatusError

KIND = Cluster().kind
specs = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]),
        "sessionAffinity": st.sampled_from(["", "None", "ClientIP"]),
        "sessionAffinityConfig": st.sampled_from([{}, {"clientIP": {"timeoutSeconds": 5}}]),
        "ports": st.lists(st.sampled_from([{"port": 80}, {"port": 80, "targetPort": "http", "protocol": "UDP"}])),
        "externalIPs": st.sampled_from([[], ["1.1.1.1"]]),
    },
)


@given(specs)
def test_default_is_idempotent(spec: dict):
    assert is_idempotent(KIND, tree(spec=spec, status={"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}))


def service(**spec: object) -> dict:
    return defaulted(KIND, tree(spec=spec))["spec"]


def test_default_sets_fields_of_every_service():
    assert service(ports=[{"port": 80}]) == {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }


@pytest.mark.parametrize(
    ("spec", "external", "internal", "allocates"),
    [
        ({"type": "ClusterIP"}, None, "Cluster", None),
        ({"type": "ClusterIP", "externalIPs": ["1.1.1.1"]}, "Cluster", "Cluster", None),
        ({"type": "NodePort"}, "Cluster", "Cluster", None),
        ({"type": "LoadBalancer"}, "Cluster", "Cluster", True),
        ({"type": "ExternalName"}, None, None, None),
    ],
)
def test_default_sets_traffic_policies_cluster(spec: dict, external, internal, allocates):
    obj = service(**spec)
    names = ("externalTrafficPolicy", "internalTrafficPolicy", "allocateLoadBalancerNodePorts")
    assert tuple(obj.get(name) for name in names) == (external, internal, allocates)


def test_default_sets_affinity_timeout():
    assert service(sessionAffinity="ClientIP")["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    assert "sessionAffinityConfig" not in service(sessionAffinityConfig={"clientIP": {"timeoutSeconds": 5}})


def test_default_sets_ip_mode_vip():
    status = {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}, {"hostname": "h"}]}}
    obj = defaulted(KIND, tree(spec={"type": "LoadBalancer"}, status=status))
    assert obj["status"]["loadBalancer"]["ingress"] == [{"ip": "1.1.1.1", "ipMode": "VIP"}, {"hostname": "h"}]


# -- create and update ------------------------------------------------------------------------------------------------------


async def test_prepare_for_create_sets_family_and_empty_load_balancer():
    obj = await Cluster(FOUR, SIX).create()
    assert (obj["spec"]["ipFamilyPolicy"], obj["spec"]["ipFamilies"]) == ("SingleStack", ["IPv4"])
    assert obj["status"] == {"loadBalancer": {}}


async def test_prepare_for_create_rejects_families_that_cluster_lacks():
    with pytest.raises(StatusError) as caught:
        await Cluster(FOUR).create(ipFamilies=["IPv6"])
    assert (caught.value.code, caught.value.message) == (
        422,
        'Service "a" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    )


async def test_prepare_for_update_keeps_allocated_values():
    cluster = Cluster()
    old = await cluster.create(type="NodePort")
    new = await cluster.update(old, clusterIP=None, clusterIPs=None, ports=[{"port": 80}], selector={"a": "b"})
    assert new["spec"] == {**old["spec"], "selector": {"a": "b"}}


async def test_validate_update_rejects_change_of_cluster_ip():
    cluster = Cluster()
    old = await cluster.create(clusterIP="10.96.0.5")
    with pytest.raises(Refused, match="may not change once set"):
        await cluster.update(old, clusterIP="10.96.0.6")


async def test_prepare_for_update_drops_load_balancer_status_when_type_changes():
    cluster = Cluster()
    old = await cluster.create(type="LoadBalancer")
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}
    assert (await cluster.update(old, type="ClusterIP"))["status"] == {"loadBalancer": {}}
    assert old["status"] == {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}


def test_name_errors_require_dns_label():
    assert not KIND.name_errors("a-b")
    assert KIND.name_errors("a.b")


def test_validate_status_update_checks_load_balancer():
    status = {"loadBalancer": {"ingress": [{"ip": "1.1.1.1", "ipMode": "VIP"}]}}
    obj = tree(spec={"type": "ClusterIP"}, status=status)
    assert len(error_texts(KIND.validate_status_update(context(), obj, obj))) == 1


def test_status_warnings_about_non_canonical_addresses():
    obj = tree(status={"loadBalancer": {"ingress": [{"hostname": "a"}, {"ip": "FD00::1"}]}})
    (warning,) = KIND.status_warnings(context(), obj, obj)
    assert warning.startswith('status.loadBalancer.ingress[1]: IPv6 address "FD00::1" should be in RFC 5952 canonical')


# -- Table -----------------------------------------------------------------------------------------------------------


def row(status: dict | None = None, **spec: object) -> list:
    return KIND.cells(tree(spec=spec, status=status or {}), NOW)


def test_columns_match_upstream():
    assert [column.name for column in KIND.columns] == [
        "Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector",
    ]  # fmt: skip


def test_cells_of_service():
    ports = [{"port": 80, "nodePort": 30000, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    cells = row(type="NodePort", clusterIPs=["10.0.0.1", "fd00::1"], ports=ports, selector={"a": "b"})
    assert cells == ["a", "NodePort", "10.0.0.1", "<none>", "80:30000/TCP,53/UDP", "60s", "a=b"]
    assert row(type="ClusterIP") == ["a", "ClusterIP", "<none>", "<none>", "<none>", "60s", "<none>"]


@pytest.mark.parametrize(
    ("status", "spec", "text"),
    [
        ({}, {"type": "ClusterIP", "externalIPs": ["1.1.1.1", "2.2.2.2"]}, "1.1.1.1,2.2.2.2"),
        ({}, {"type": "LoadBalancer"}, "<pending>"),
        ({}, {"type": "LoadBalancer", "externalIPs": ["2.2.2.2"]}, "2.2.2.2"),
        (
            {"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "b"}, {"ip": "1.1.1.1"}]}},
            {"type": "LoadBalancer"},
            "1.1.1.1,2.2.2.2,b",
        ),
        ({}, {"type": "ExternalName", "externalName": "e.x"}, "e.x"),
        ({}, {}, "<unknown>"),
    ],
)
def test_cells_show_external_addresses(status: dict, spec: dict, text: str):
    assert row(status, **spec)[3] == text


def test_field_labels_select_by_cluster_ip_and_type():
    obj = tree(spec={"clusterIP": "10.0.0.1", "type": "ClusterIP"})
    assert {name: label(obj) for name, label in KIND.field_labels.items()} == {
        "spec.clusterIP": "10.0.0.1",
        "spec.type": "ClusterIP",
    }
