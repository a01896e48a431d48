from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import PODS, Server, pod_spec

from steersman.apiserver.admission.interface import Operation, Plugin

POD = f"{PODS}/a"
BINDING = f"{POD}/binding"
BINDINGS = "/api/v1/namespaces/default/bindings"


def binding(node: str = "n", **metadata: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a", **metadata},
        "target": {"kind": "Node", "name": node},
    }


class Labels(Plugin):
    """Labels bindings, or refuses them."""

    name = "PodTopologyLabels"

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str]] = []
        self.refuses = False

    def handles(self, resource, subresource, operation):
        return operation is Operation.CREATE and (subresource == "binding" or resource.name == "bindings")

    async def admit(self, attributes):
        self.calls.append((attributes.resource.name, attributes.subresource, attributes.object["kind"]))
        attributes.object["metadata"]["labels"] = {"zone": "z"}

    async def validate(self, attributes):
        if self.refuses:
            raise attributes.forbidden("not today")


@pytest.mark.parametrize("path", [BINDING, BINDINGS])
async def test_binding_sets_node_name_and_annotations(path):
    async with Server() as server:
        new_pod = await server.make(PODS, spec=pod_spec(), metadata={"annotations": {"old": "x", "both": "x"}})
        answer = await server.call("POST", path, binding("n", annotations={"new": "y", "both": "y"}))
        assert answer.code == 201
        assert answer.body == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        pod = (await server.call("GET", POD)).body
        assert pod["spec"] == {**new_pod["spec"], "nodeName": "n"}
        assert pod["metadata"]["annotations"] == {"old": "x", "new": "y", "both": "y"}
        assert [(c["type"], c["status"]) for c in pod["status"]["conditions"]] == [("PodScheduled", "True")]


async def test_binding_changes_neither_managed_fields_nor_generation():
    async with Server() as server:
        pod = await server.make(PODS, spec=pod_spec())
        await server.call("POST", BINDING, binding())
        metadata = (await server.call("GET", POD)).body["metadata"]
        assert metadata.pop("resourceVersion") != pod["metadata"].pop("resourceVersion")
        assert metadata == pod["metadata"]


async def test_binding_clears_the_nominated_node_name():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        await server.merge(f"{POD}/status", {"status": {"nominatedNodeName": "n"}})
        await server.call("POST", BINDING, binding())
        assert "nominatedNodeName" not in (await server.call("GET", POD)).body["status"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"kind": "Pod", "name": "x"}, 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"'),
        ({"kind": "Node", "name": ""}, "target.name: Required value"),
        (None, "target.name: Required value"),
        (
            {"kind": "Pod"},
            '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]',
        ),
    ],
)
async def test_binding_rejects_targets_other_than_named_nodes(target, message):
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        answer = await server.call("POST", BINDING, {**binding(), "target": target})
        assert (answer.code, answer.body["message"]) == (500, message)


async def test_binding_target_kind_defaults_to_node():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", BINDING, {**binding(), "target": {"name": "n"}})).code == 201


async def test_binding_name_must_equal_the_name_in_the_path():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        answer = await server.call("POST", BINDING, binding(name="b"))
        assert (answer.code, answer.body["message"]) == (400, "name in URL does not match name in Binding object")


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [({"name": "n"}, 400, "Name parameter required."), ({}, 500, "target.name: Required value")],
)
async def test_binding_to_the_namespace_checks_the_target_before_the_name(target, code, message):
    async with Server() as server:
        answer = await server.call("POST", BINDINGS, {"target": target})
        assert (answer.code, answer.body["message"]) == (code, message)


@pytest.mark.parametrize(("path", "code"), [(f"{PODS}/none/binding", 404), (BINDINGS, 404)])
async def test_binding_of_a_missing_pod_is_404(path, code):
    async with Server() as server:
        answer = await server.call("POST", path, binding(name="none"))
        assert (answer.code, answer.body["message"]) == (code, 'pods "none" not found')


async def test_binding_of_a_bound_pod_is_a_conflict():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        await server.call("POST", BINDING, binding())
        answer = await server.call("POST", BINDING, binding())
        assert (answer.code, answer.body["details"]) == (409, {"name": "a", "kind": "pods/binding"})
        assert answer.body["message"].endswith('pod a is already assigned to node "n"')


async def test_binding_of_a_gated_pod_is_rejected():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec(schedulingGates=[{"name": "example.com/wait"}]))
        answer = await server.call("POST", BINDING, binding())
        assert (answer.code, answer.body["message"].partition(": ")[2]) == (
            409,
            "pod a has non-empty .spec.schedulingGates",
        )


async def test_binding_of_a_terminating_pod_is_rejected():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec(), metadata={"finalizers": ["example.com/hold"]})
        await server.call("DELETE", POD)
        answer = await server.call("POST", BINDING, binding())
        assert (answer.code, answer.body["message"].partition(": ")[2]) == (
            409,
            "pod a is being deleted, cannot be assigned to a host",
        )


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"uid": "other"}, "UID in precondition: other,"),
        ({"resourceVersion": "1"}, "ResourceVersion in precondition: 1,"),
    ],
)
async def test_binding_honors_uid_and_resource_version_preconditions(metadata, message):
    async with Server() as server:
        pod = await server.make(PODS, spec=pod_spec())
        answer = await server.call("POST", BINDING, binding(**metadata))
        assert (answer.code, answer.body["details"]) == (409, {"name": "a", "kind": "pods"})
        assert message in answer.body["message"]
        fits = {name: pod["metadata"][name] for name in ("uid", "resourceVersion")}
        assert (await server.call("POST", BINDING, binding(**fits))).code == 201


async def test_binding_dry_run_stores_nothing():
    async with Server() as server:
        pod = await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", BINDING, binding(), query="dryRun=All")).code == 201
        assert (await server.call("GET", POD)).body == pod


@pytest.mark.parametrize(
    ("path", "seen"), [(BINDING, ("pods", "binding", "Binding")), (BINDINGS, ("bindings", "", "Binding"))]
)
async def test_labels_added_by_binding_admission_are_copied_to_the_pod(path, seen):
    plugin = Labels()
    async with Server(plugin) as server:
        await server.make(PODS, spec=pod_spec())
        await server.call("POST", path, binding())
        assert plugin.calls == [seen]
        assert (await server.call("GET", POD)).body["metadata"]["labels"] == {"zone": "z"}


async def test_binding_rejected_by_admission_is_not_stored():
    plugin = Labels()
    plugin.refuses = True
    async with Server(plugin) as server:
        await server.make(PODS, spec=pod_spec())
        answer = await server.call("POST", BINDING, binding())
        assert (answer.code, answer.body["message"]) == (403, 'pods "a" is forbidden: not today')


async def test_bindings_support_create_only():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("GET", BINDING)).code == 405
        assert (await server.call("GET", BINDINGS)).code == 405
        assert (await server.call("GET", f"{BINDINGS}/a")).code == 404
