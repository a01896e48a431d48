from __future__ import annotations

import pytest

from steersman.apiserver.admission.limited_resources import LimitedResource, read_limited_resources, scopes_text


def configuration(*limited, api_version="apiserver.config.k8s.io/v1", kind="ResourceQuotaConfiguration"):
    return {"apiVersion": api_version, "kind": kind, "limitedResources": list(limited)}


def test_limited_resources_are_read_from_the_configuration():
    scope = {"scopeName": "PriorityClass", "operator": "Exists"}
    tree = configuration(
        {"resource": "pods", "matchScopes": [scope]},
        {"resource": "deployments", "apiGroup": "apps", "matchContains": ["x"]},
    )
    assert read_limited_resources(tree) == (
        LimitedResource("pods", (), (scope,)),
        LimitedResource("deployments.apps", ("x",)),
    )
    assert read_limited_resources(None) == ()
    old = configuration(api_version="resourcequota.admission.k8s.io/v1beta1", kind="Configuration")
    assert read_limited_resources(old) == ()


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (configuration(kind="Other"), "no kind 'Other' of 'apiserver.config.k8s.io/v1'"),
        (configuration({"resource": "pods"}, {}), r"limitedResources\[1\].resource: Required value"),
    ],
)
def test_invalid_configuration_is_rejected(tree, text):
    with pytest.raises(ValueError, match=text):
        read_limited_resources(tree)


def test_scopes_are_formatted_as_go_prints_them():
    scopes = [{"scopeName": "A", "operator": "In", "values": ["x", "y"]}, {"scopeName": "B", "operator": "Exists"}]
    assert scopes_text(scopes) == "{A In [x y]} {B Exists []}"
