from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.apiserver.writing import CONFIG_MAPS, DEPLOYMENTS, Server

ONE = "/api/v1/namespaces/default"


@pytest.mark.parametrize(
    "path",
    [
        f"{ONE}/nothings",
        f"{ONE}/nothings/a",
        f"{ONE}/configmaps/a/status",
        f"{ONE}/configmaps/a/nothing",
        f"{ONE}/pods/a/status/b",
        f"{ONE}/nodes",
        f"{ONE}/configmap",
        f"{ONE}/ConfigMaps",
        "/api/v1/configmaps/a",
        "/api/v1//namespaces/default/configmaps",
        "/api/v2/namespaces/default/pods",
        "/apis/apps/v9/namespaces/default/deployments",
        "/apis/apps/v1/namespaces/default/daemonsets/a/scale",
        "/api/v1/proxy/namespaces/default/pods/a",
        "/api/v1/watch/namespaces/default/pods/a/log",
        "/api/v1/watch/namespaces/default/pods/a/status",
        "/api/v1/watch/namespaces/default/status",
        "/apis/apps/v1/watch/namespaces/default/deployments/a/scale",
        "/api/v1/watch/configmaps/a",
        "/api/v1/watch/namespaces/default/bindings",
        "/api/v1/watch/componentstatuses",
        "/apis/authorization.k8s.io/v1/watch/subjectaccessreviews",
    ],
)
async def test_unserved_path_is_a_404_status(path):
    async with Server() as server:
        answer = await server.call("GET", path)
        assert (answer.code, answer.body["reason"], answer.body["details"]) == (404, "NotFound", {})


async def test_unknown_group_is_a_plain_404():
    async with Server() as server:
        answer = await server.call("GET", "/apis/nothing.example.com/v1/things")
        assert (answer.code, answer.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{CONFIG_MAPS}/a"),
        ("PUT", CONFIG_MAPS),
        ("PATCH", CONFIG_MAPS),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("HEAD", CONFIG_MAPS),
        ("HEAD", f"{CONFIG_MAPS}/a"),
        ("OPTIONS", CONFIG_MAPS),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("GET", f"{ONE}/bindings"),
        ("GET", f"{ONE}/pods/a/eviction"),
        ("DELETE", "/apis/apps/v1/namespaces/default/deployments/a/status"),
        ("POST", "/apis/apps/v1/namespaces/default/deployments/a/scale"),
        ("GET", f"{ONE}/finalize"),
        ("POST", "/api/v1/watch/namespaces/default/configmaps"),
    ],
)
async def test_unsupported_verb_is_405(method, path):
    async with Server() as server:
        answer = await server.call(method, path)
        assert (answer.code, answer.body["reason"]) == (405, "MethodNotAllowed")


async def test_subresource_without_a_name_is_400():
    async with Server() as server:
        answer = await server.call("GET", "/apis/apps/v1/namespaces/default/deployments//status")
        assert (answer.code, answer.body["message"]) == (400, "name must be provided")


async def test_trailing_slashes_are_ignored():
    async with Server() as server:
        assert (await server.call("POST", f"{CONFIG_MAPS}/", {"metadata": {"name": "a"}})).code == 201
        assert (await server.call("GET", f"{CONFIG_MAPS}/a/")).code == 200


async def test_namespace_and_namespaced_resource_paths_differ():
    async with Server() as server:
        assert (await server.call("GET", ONE)).body["kind"] == "Namespace"
        assert (await server.call("GET", f"{ONE}/status")).body["kind"] == "Namespace"
        assert (await server.call("GET", CONFIG_MAPS)).body["kind"] == "ConfigMapList"


async def test_deprecated_versions_warn_with_every_response():
    async with Server() as server:
        answer = await server.call("GET", f"{ONE}/endpoints/none")
        assert (answer.code, answer.warnings) == (
            404,
            ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"],
        )


async def test_replaced_resource_is_served_by_its_successor():
    async with Server() as server:
        await server.make()
        served = server.registry.get("", "v1", "configmaps")
        other = server.registry.get("", "v1", "secrets")
        assert served is not None
        assert other is not None
        server.registry.add(other)
        server.registry.add(served)
        assert (await server.call("GET", CONFIG_MAPS)).body["kind"] == "ConfigMapList"


_segment = st.sampled_from(["api", "apis", "v1", "namespaces", "default", "configmaps", "a", "status", "", "%", "é"])


@given(segments=st.lists(_segment, min_size=3, max_size=8), method=st.sampled_from(["GET", "POST", "PUT", "DELETE"]))
@settings(max_examples=200, deadline=None)
async def test_no_path_causes_a_server_error(segments, method):
    path = "/api/v1/" + "/".join(segments)
    async with Server() as server:
        answer = await server.call(method, path)
        assert answer.code < 500


@pytest.mark.parametrize(
    ("path", "go_type"),
    [
        (CONFIG_MAPS, "*core.ConfigMap"),
        (DEPLOYMENTS, "*apps.Deployment"),
        ("/apis/events.k8s.io/v1/namespaces/default/events", "*core.Event"),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "*rbac.Role"),
    ],
)
async def test_list_as_partial_object_metadata_is_406_with_upstreams_type(path, go_type):
    async with Server() as server:
        accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        answer = await server.call("GET", path, headers={"accept": accept})
        assert (answer.code, answer.body["message"]) == (
            406,
            f"you requested PartialObjectMetadata, but the requested object is a list ({go_type}List)",
        )
