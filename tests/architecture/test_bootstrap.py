"""Bootstrap objects equal the recorded ones of a running Kubernetes 1.36, if these are beside the checkout."""

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


def test_bootstrap_roles_and_bindings_equal_upstream():
    policy = rbac.read_policy(rbac._TABLE.read_text())
    assert by_name(policy) == recorded("rbac.yaml")


def test_bootstrap_flow_control_equals_upstream():
    kinds = ("FlowSchema", "PriorityLevelConfiguration")
    assert by_name([*flow_schemas(), *priority_levels()]) == recorded("bootstrap-objects.yaml", kinds)


def test_bootstrap_priority_classes_equal_upstream():
    expected = recorded("bootstrap-objects.yaml", ("PriorityClass",))
    for tree in expected.values():
        assert tree.pop("preemptionPolicy") == "PreemptLowerPriority"  # a default
    assert by_name(priority_classes()) == expected


async def test_bootstrap_api_services_equal_upstream():
    async with InProcessAPIServer() as server:
        answer = await server.request("GET", "/apis/apiregistration.k8s.io/v1/apiservices")
        served = {item["metadata"]["name"]: item["spec"] for item in answer.json()["items"]}
    recorded_objects = recorded("bootstrap-objects.yaml", ("APIService",))
    expected = {name: tree["spec"] for (_, _, name), tree in recorded_objects.items()}
    assert served == expected
