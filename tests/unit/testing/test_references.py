"""References to objects."""

import pytest

from steersman.apiserver.discovery.catalog import Catalog
from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.runtime_config import served_resources
from steersman.testing.references import BadReference, read_reference


@pytest.fixture(scope="module")
def catalog():
    return Catalog(served_resources(APIServerOptions()))


@pytest.mark.parametrize("text", ["deployment/web", "deployments/web", "deploy/web", "Deployment/web", "deployment.apps/web",
                                  "deployment/default/web"])  # fmt: skip
def test_reference_names_a_resource_as_kubectl_does(catalog, text):
    reference = read_reference(text, catalog)
    assert reference.key == "/registry/deployments/default/web"
    assert reference.path == "/apis/apps/v1/namespaces/default/deployments/web"
    assert str(reference) == "deployment/web"


def test_reference_to_a_cluster_scoped_object_has_no_namespace(catalog):
    reference = read_reference("node/node-0", catalog)
    assert (reference.key, reference.path) == ("/registry/minions/node-0", "/api/v1/nodes/node-0")


def test_core_group_has_precedence(catalog):
    assert read_reference("events/a", catalog).resource.group == ""
    assert read_reference("event.events.k8s.io/a", catalog).resource.group == "events.k8s.io"


@pytest.mark.parametrize(
    ("text", "message"),
    [("web", "expected RESOURCE/NAME"), ("/web", "expected RESOURCE/NAME"), ("a/b/c/d", "expected"),
     ("widget/a", 'the server serves no resource "widget"')],
)  # fmt: skip
def test_bad_reference_is_an_error(catalog, text, message):
    with pytest.raises(BadReference, match=message):
        read_reference(text, catalog)
