from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, Server

from steersman.apiserver.endpoints.deprecations import deprecation_notes, deprecation_warning
from steersman.schema.resources import table

ENDPOINTS = "/api/v1/namespaces/default/endpoints"


@pytest.mark.parametrize(
    ("group", "version", "name", "warning"),
    [
        ("", "v1", "endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        ("", "v1", "componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"),
        (
            "coordination.k8s.io",
            "v1beta1",
            "leasecandidates",
            "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
        ),
        ("", "v1", "configmaps", ""),
    ],
)
def test_deprecation_warning_of_built_in_versions(group, version, name, warning):
    [resource] = [r for r in table().resources if (r.group, r.version, r.name) == (group, version, name)]
    assert deprecation_warning(resource) == warning


@pytest.mark.parametrize(
    ("group", "version", "name", "notes"),
    [
        ("", "v1", "endpoints", {"k8s.io/deprecated": "true"}),
        (
            "coordination.k8s.io",
            "v1beta1",
            "leasecandidates",
            {"k8s.io/deprecated": "true", "k8s.io/removed-release": "1.39"},
        ),
        ("", "v1", "configmaps", {}),
    ],
)
def test_deprecation_is_recorded_in_audit_annotations(group, version, name, notes):
    [resource] = [r for r in table().resources if (r.group, r.version, r.name) == (group, version, name)]
    assert deprecation_notes(resource) == notes


async def test_deprecated_version_warns_for_every_verb():
    async with Server() as server:
        warning = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        body = {"metadata": {"name": "a"}}
        assert (await server.call("POST", ENDPOINTS, body)).warnings == [warning]
        assert (await server.call("GET", ENDPOINTS)).warnings == [warning]
        assert (await server.call("GET", f"{ENDPOINTS}/a")).warnings == [warning]
        assert (await server.merge(f"{ENDPOINTS}/a", {})).warnings == [warning]
        assert (await server.call("DELETE", f"{ENDPOINTS}/a")).warnings == [warning]
        assert (await server.call("POST", CONFIG_MAPS, body)).warnings == []
