"""Where recorded facts of a running Kubernetes 1.36 lie beside the checkout, every cluster has the same objects."""

from pathlib import Path

import pytest
import yaml

from steersman.controlplane.bootstrap import rbac
from steersman.controlplane.bootstrap.flow_control import flow_schemas, priority_levels
from steersman.controlplane.bootstrap.priority_classes import priority_classes
from steersman.testing import InProcessAPIServer

FACTS = Path(__file__).parents[3] / "shared" / "facts"
pytestmark = pytest.mark.skipif(not FACTS.is_dir(), reason="no recorded facts beside this checkout")


def by_name(trees):
    return {(t["kind"], t["metadata"].get("namespace", ""), t["metadata"]["name"]): t for t in trees}


def recorded(name, kinds=None):
    trees = yaml.safe_load_all((FACTS / name).read_text())
    return by_name(tree for tree in trees if kinds is None or tree["kind"] in kinds)


def test_roles_and_bindings_are_upstreams():
    made = rbac.read_policy(rbac._TABLE.read_text())
    assert by_name(made) == recorded("rbac.yaml")


def test_flow_control_is_upstreams():
    kinds = ("FlowSchema", "PriorityLevelConfiguration")
    assert by_name([*flow_schemas(), *priority_levels()]) == recorded("bootstrap-objects.yaml", kinds)


def test_priority_classes_are_upstreams():
    found = recorded("bootstrap-objects.yaml", ("PriorityClass",))
    for tree in found.values():
        assert tree.pop("preemptionPolicy") == "PreemptLowerPriority"  # a default
    assert by_name(priority_classes()) == found


async def test_api_services_are_upstreams():
    async with InProcessAPIServer() as server:
        answer = await server.request("GET", "/apis/apiregistration.k8s.io/v1/apiservices")
        made = {item["metadata"]["name"]: item["spec"] for item in answer.json()["items"]}
    found = recorded("bootstrap-objects.yaml", ("APIService",))
    wanted = {name: tree["spec"] for (_, _, name), tree in found.items()}
    assert made == wanted
