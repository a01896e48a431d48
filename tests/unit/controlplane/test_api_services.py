"""Every group version that is served has its APIService."""

from steersman.apiserver.discovery.catalog import Catalog
from steersman.controlplane.api_services import plan
from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.runtime_config import served_resources
from steersman.schema.resources import Resource, table
from steersman.testing import InProcessAPIServer

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"


def test_built_in_versions_have_upstreams_priorities():
    spec = plan(Catalog(table()))["v2.autoscaling"]["spec"]
    assert spec == {"group": "autoscaling", "version": "v2", "groupPriorityMinimum": 17500, "versionPriority": 30}


def test_api_service_of_the_core_group_has_an_empty_group():
    assert plan(Catalog(table()))["v1."]["spec"]["group"] == ""


def test_custom_groups_come_last_and_are_followed():
    catalog = Catalog(table())
    catalog.add(Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get",)))
    created = plan(catalog)["v1.example.com"]
    assert (created["spec"]["groupPriorityMinimum"], created["spec"]["versionPriority"]) == (1000, 100)
    assert created["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}


async def test_started_server_has_an_api_service_for_each_version():
    async with InProcessAPIServer() as server:
        items = (await server.request("GET", PATH)).json()["items"]
    assert {item["metadata"]["name"] for item in items} == set(plan(Catalog(served_resources(APIServerOptions()))))
    assert {item["status"]["conditions"][0]["reason"] for item in items} == {"Local"}
