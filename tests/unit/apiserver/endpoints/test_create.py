from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.apiserver.writing import CONFIG_MAPS, DEPLOYMENTS, Server, causes, deployment

from steersman.apiserver.admission.interface import Operation, Plugin

if TYPE_CHECKING:
    from steersman.apiserver.admission.interface import Attributes


async def test_create_returns_the_object_with_server_set_metadata():
    async with Server() as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        metadata = answer.body["metadata"]
        assert (answer.code, answer.body["kind"], answer.body["apiVersion"]) == (201, "ConfigMap", "v1")
        assert metadata["namespace"] == "default"
        assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
        assert len(metadata["uid"]) == 36
        assert metadata["resourceVersion"] == str(server.store.revision)
        assert metadata["managedFields"][0]["manager"] == "unit-test"


async def test_create_drops_fields_that_only_the_server_sets():
    value = {
        "name": "a",
        "uid": "mine",
        "creationTimestamp": "2000-01-01T00:00:00Z",
        "deletionTimestamp": "2000-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "selfLink": "/x",
    }
    async with Server() as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": value})
        metadata = answer.body["metadata"]
        assert metadata["uid"] != "mine"
        assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
        assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & metadata.keys()


class _Names(Plugin):
    """Writes down how objects are called when they are looked at for the last time."""

    name: ClassVar[str] = "AlwaysDeny"

    def __init__(self) -> None:
        self.names: list[str] = []

    def handles(self, resource: object, subresource: str, operation: Operation) -> bool:
        return operation is Operation.CREATE

    async def validate(self, attributes: Attributes) -> None:
        self.names.append(attributes.name)


async def test_validating_admission_sees_the_generated_name():
    plugin = _Names()
    async with Server(plugin) as server:
        plugin.names.clear()
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
        assert plugin.names == [answer.body["metadata"]["name"]]


async def test_managed_fields_of_the_client_keep_fields_without_another_owner():
    value = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    async with Server() as server:
        metadata = {"name": "a", "managedFields": [{**value, "fieldsV1": {"f:data": {"f:k": {}, "f:gone": {}}}}]}
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": metadata, "data": {"k": "v"}})
        owned = {entry["manager"]: entry["fieldsV1"] for entry in answer.body["metadata"]["managedFields"]}
        assert owned == {"x": {"f:data": {"f:gone": {}}}, "unit-test": {"f:data": {".": {}, "f:k": {}}}}


async def test_create_dry_run_of_an_existing_name_is_already_exists():
    async with Server() as server:
        await server.make()
        for query in ("", "dryRun=All"):
            answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, query=query)
            assert (answer.code, answer.body["reason"]) == (409, "AlreadyExists")


async def test_create_with_the_name_of_a_terminating_object_is_already_exists():
    async with Server() as server:
        await server.make(metadata={"finalizers": ["example.com/f"]})
        await server.call("DELETE", f"{CONFIG_MAPS}/a")
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert answer.body["message"] == 'object is being deleted: configmaps "a" already exists'


async def test_create_dry_run_returns_no_resource_version_and_stores_nothing():
    async with Server() as server:
        before = server.store.revision
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, query="dryRun=All")
        assert answer.code == 201
        assert "resourceVersion" not in answer.body["metadata"]
        assert server.store.revision == before
        assert (await server.call("GET", f"{CONFIG_MAPS}/a")).code == 404


@pytest.mark.parametrize("sent", ["5", "05", "0", "x", '"'])
async def test_create_dry_run_keeps_the_resource_version_that_was_sent(sent):
    async with Server() as server:
        body = {"metadata": {"name": "a", "resourceVersion": sent}}
        answer = await server.call("POST", CONFIG_MAPS, body, query="dryRun=All")
        assert (answer.code, answer.body["metadata"].get("resourceVersion")) == (201, sent)


async def test_create_with_a_resource_version_is_a_500():
    async with Server() as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a", "resourceVersion": "1"}})
        assert (answer.code, answer.body["message"]) == (
            500,
            "resourceVersion should not be set on objects to be created",
        )


@pytest.mark.parametrize("version", ["", "0", "nonsense"])
async def test_create_ignores_zero_empty_and_unparseable_resource_versions(version):
    async with Server() as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a", "resourceVersion": version}})
        assert answer.code == 201


async def test_generated_name_has_the_prefix_and_is_unique():
    async with Server() as server:
        names = [
            (await server.call("POST", CONFIG_MAPS, {"metadata": {"generateName": "gen-"}})).body["metadata"]["name"]
            for _ in range(20)
        ]
        assert len(set(names)) == 20
        assert all(name.startswith("gen-") and len(name) == 9 for name in names)


async def test_invalid_generate_name_is_rejected_even_with_a_valid_name():
    async with Server() as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a", "generateName": "Gen_"}})
        assert causes(answer) == [("FieldValueInvalid", "metadata.generateName")]


async def test_create_requires_a_name():
    async with Server() as server:
        for body in ({}, {"metadata": {}}, b"null"):
            answer = await server.call("POST", CONFIG_MAPS, body)
            assert (answer.code, causes(answer)) == (422, [("FieldValueRequired", "metadata.name")])


async def test_create_rejects_a_namespace_other_than_that_of_the_path():
    async with Server() as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "other"}})
        assert (answer.code, answer.body["reason"]) == (400, "BadRequest")


async def test_create_drops_the_namespace_of_a_cluster_scoped_object():
    async with Server() as server:
        answer = await server.call("POST", "/api/v1/namespaces", {"metadata": {"name": "n", "namespace": "other"}})
        assert answer.code == 201
        assert "namespace" not in answer.body["metadata"]


async def test_duplicate_owner_reference_is_removed_with_a_warning():
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}
    async with Server() as server:
        body = {"metadata": {"name": "a", "ownerReferences": [owner, owner]}}
        answer = await server.call("POST", CONFIG_MAPS, body)
        assert answer.body["metadata"]["ownerReferences"] == [owner]
        assert answer.warnings[0].startswith(".metadata.ownerReferences contains duplicate entries; ")
        assert answer.warnings[0].endswith("please fix your requests; duplicate UID(s) observed: u1")


async def test_field_validation_warns_rejects_or_ignores_unknown_fields():
    body = {"metadata": {"name": "a"}, "typo": 1}
    async with Server() as server:
        strict = await server.call("POST", CONFIG_MAPS, body, query="fieldValidation=Strict")
        assert strict.code == 400
        assert strict.body["message"].endswith('strict decoding error: unknown field "typo"')
        warned = await server.call("POST", CONFIG_MAPS, body, query="dryRun=All")
        assert warned.warnings == ['unknown field "typo"']
        ignored = await server.call("POST", CONFIG_MAPS, body, query="fieldValidation=Ignore")
        assert (ignored.code, ignored.warnings) == (201, [])


async def test_create_checks_options_then_body_then_namespace():
    async with Server() as server:
        missing = CONFIG_MAPS.replace("default", "missing")
        assert (await server.call("POST", missing, b"{", query="dryRun=No")).code == 422
        assert (await server.call("POST", missing, b"{")).code == 400
        assert (await server.call("POST", missing, {"metadata": {"name": "_"}})).code == 404


async def test_create_accepts_yaml():
    body = b"metadata: {name: a}\ndata: {k: v}\n"
    async with Server() as server:
        answer = await server.call("POST", CONFIG_MAPS, body, media_type="application/yaml")
        assert (answer.code, answer.body["data"]) == (201, {"k": "v"})


async def test_generation_is_set_by_kinds_that_count_it_and_kept_by_others():
    async with Server() as server:
        counted = await server.make(DEPLOYMENTS, metadata={"generation": 7}, spec=deployment())
        retained = await server.make(metadata={"generation": 7})
        assert (counted["metadata"]["generation"], retained["metadata"]["generation"]) == (1, 7)


async def test_emptied_list_without_omitempty_is_owned():
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
    async with Server() as server:
        role = await server.make(roles, rules=[])
        assert role["rules"] is None
        assert role["metadata"]["managedFields"][0]["fieldsV1"] == {"f:rules": {}}


async def test_created_events_expire():
    events = "/api/v1/namespaces/default/events"
    async with Server(event_ttl_seconds=60) as server:
        await server.make(events, involvedObject={"kind": "Pod", "name": "p", "namespace": "default"}, reason="R")
        assert (await server.call("GET", f"{events}/a")).code == 200
        await server.clock.advance(70)
        assert (await server.call("GET", f"{events}/a")).code == 404


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "labels", "finalizers", "metadata", "spec", "data", "kind", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(body=_json, metadata=_json)
@settings(max_examples=150, deadline=None)
async def test_no_create_body_causes_a_server_error(body, metadata):
    async with Server() as server:
        for candidate in (body, {"metadata": metadata, "data": body}, {"metadata": {"name": "a", "labels": metadata}}):
            assert (await server.call("POST", CONFIG_MAPS, candidate)).code in (201, 400, 409, 422)
