"""The Service of the API servers."""

import copy
from ipaddress import ip_network

import pytest

from steersman.controlplane.bootstrap.kubernetes_service import DesiredService, build_service, plan_service

RANGES = [ip_network("10.0.0.0/24")]
DESIRED = DesiredService(ip="10.0.0.1", target_port=6443)
BY_SERVER = [{"manager": "kube-apiserver", "fieldsV1": {"f:spec": {"f:ports": {}, "f:type": {}}}}]
BY_SOMEBODY = [*BY_SERVER, {"manager": "kubectl", "fieldsV1": {"f:spec": {"f:ports": {}}}}]


def stored(**spec):
    tree = copy.deepcopy(build_service(DESIRED))
    tree["metadata"] |= {"resourceVersion": "7", "managedFields": BY_SERVER}
    tree["spec"] |= {"clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"], **spec}
    return tree


def plan(obj, wish=DESIRED, *, at_start=False):
    return plan_service(obj, wish, ranges=RANGES, at_start=at_start)


def test_missing_service_is_created_without_a_selector():
    new_plan = plan(None).tree
    assert new_plan["spec"]["ports"] == [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}]
    assert (new_plan["spec"]["clusterIP"], new_plan["spec"]["type"]) == ("10.0.0.1", "ClusterIP")
    assert new_plan["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    assert (new_plan["spec"]["ipFamilyPolicy"], new_plan["spec"]["sessionAffinity"]) == ("SingleStack", "None")
    assert "selector" not in new_plan["spec"]


def test_service_is_of_type_nodeport_when_a_node_port_is_given():
    new_plan = plan(None, DesiredService(ip="10.0.0.1", target_port=6443, node_port=30443)).tree
    assert (new_plan["spec"]["type"], new_plan["spec"]["ports"][0]["nodePort"]) == ("NodePort", 30443)


@pytest.mark.parametrize("at_start", [True, False])
def test_service_as_desired_is_not_written(at_start):
    assert plan(stored(), at_start=at_start) is None


def test_start_corrects_ports_and_type_of_any_field_manager():
    result = stored(type="NodePort", ports=[{"name": "https", "port": 443, "targetPort": 1, "nodePort": 30000}])
    repaired = plan(result, at_start=True).tree
    assert (repaired["spec"]["type"], repaired["spec"]["ports"]) == ("ClusterIP", DESIRED.ports)
    assert repaired["metadata"]["resourceVersion"] == "7"


def test_running_server_corrects_only_changes_of_other_field_managers():
    """Two servers started with different ports would correct each other for ever."""
    result = stored(ports=[{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 16443}])
    assert plan(result) is None
    result["metadata"]["managedFields"] = BY_SOMEBODY
    assert plan(result).tree["spec"]["ports"] == DESIRED.ports
    result["metadata"].pop("managedFields")
    assert plan(result).tree["spec"]["ports"] == DESIRED.ports


def test_plan_service_repairs_selector_and_labels():
    result = stored(selector={"app": "x"})
    result["metadata"]["labels"] = {"mine": "stays"}
    correction = plan(result)
    assert correction.reason == "it has a selector; it lacks labels"
    assert "selector" not in correction.tree["spec"]
    assert correction.tree["metadata"]["labels"] == {
        "component": "apiserver",
        "provider": "kubernetes",
        "mine": "stays",
    }


def test_plan_service_restores_the_cluster_ip():
    result = stored(type="ExternalName", externalName="x.example.com", clusterIP="", clusterIPs=None)
    repaired = plan(result, at_start=True).tree["spec"]
    assert (repaired["clusterIP"], repaired["clusterIPs"], repaired["type"]) == ("10.0.0.1", ["10.0.0.1"], "ClusterIP")
    assert "externalName" not in repaired


@pytest.mark.parametrize("ip", ["10.0.0.9", "None"])
def test_plan_service_recreates_a_service_with_another_cluster_ip(ip):
    assert plan(stored(clusterIP=ip, clusterIPs=[ip])).replaces


def test_plan_service_keeps_a_cluster_ip_of_an_earlier_range():
    assert plan(stored(clusterIP="10.9.0.1", clusterIPs=["10.9.0.1"])) is None
