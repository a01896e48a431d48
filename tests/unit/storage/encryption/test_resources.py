"""Resources of keys."""

from __future__ import annotations

import pytest

from steersman.controlplane.encryption import _key_prefixes
from steersman.storage.encryption.resources import KeyResources


@pytest.mark.parametrize(
    ("key", "resource"),
    [
        ("/registry/secrets/default/a", ("secrets", "")),
        ("/registry/services/specs/default/a", ("services", "")),
        ("/registry/services/endpoints/default/a", ("endpoints", "")),
        ("/registry/minions/a", ("nodes", "")),
        ("/registry/deployments/default/a", ("deployments", "apps")),
        ("/registry/events/default/a", ("events", "")),
        ("/registry/ingress/default/a", ("ingresses", "networking.k8s.io")),
        ("/registry/apiregistration.k8s.io/apiservices/v1.", ("apiservices", "apiregistration.k8s.io")),
        ("/registry/example.com/gadgets/default/a", ("gadgets", "example.com")),
        ("/registry/ranges/servicenodeports", None),
        ("/registry/masterleases/192.0.2.1", None),
        ("/registry/peerserverleases/apiserver-x", None),
        ("/registry/secrets", None),
        ("compact_rev_key", None),
    ],
)
def test_resource_of_a_key(key, resource):
    assert KeyResources(_key_prefixes())(key) == resource
