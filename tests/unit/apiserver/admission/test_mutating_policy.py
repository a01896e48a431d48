from __future__ import annotations

from typing import ClassVar

import pytest
from tests.unit.apiserver.admission.policies import GROUP, RULE, Policed, denial
from tests.unit.apiserver.writing import CONFIG_MAPS, DEPLOYMENTS, USER

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.mutating_policy import MutatingAdmissionPolicy
from steersman.apiserver.admission.validating_policy import ValidatingAdmissionPolicy
from steersman.apiserver.request import RequestContext

ANNOTATE = "Object{metadata: Object.metadata{annotations: {'added': string(size(object.data))}}}"


def applying(expression):
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression):
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def mutating(*more):
    return Policed(MutatingAdmissionPolicy, *more)


async def mutate(server, *mutations, name="p", bind=True, rule=RULE, **spec):
    """Create a bound policy with these mutations."""
    spec = {"matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": "Never", **spec}
    spec["mutations"] = list(mutations)
    await server.make(f"{GROUP}/mutatingadmissionpolicies", metadata={"name": name}, spec=spec)
    path = f"{GROUP}/mutatingadmissionpolicybindings"
    if bind:
        await server.make(path, metadata={"name": name}, spec={"policyName": name})


async def test_apply_configuration_is_merged_into_the_object():
    async with mutating() as server:
        await mutate(server, applying(ANNOTATE), applying("Object{data: {'k': 'new', 'l': 'more'}}"))
        written = (await server.write(annotations={"own": "1"})).body
        assert written["metadata"]["annotations"] == {"own": "1", "added": "1"}
        assert written["data"] == {"k": "new", "l": "more"}


async def test_json_patch_is_applied_unless_its_test_fails():
    async with mutating() as server:
        test = "JSONPatch{op: 'test', path: '/data/k', value: 'v'}"
        await mutate(
            server,
            patching(f"[{test}, JSONPatch{{op: 'add', path: '/data/' + jsonpatch.escapeKey('a.b'), value: 'x'}}]"),
        )
        assert (await server.write()).body["data"] == {"k": "v", "a.b": "x"}
        assert (await server.write({"k": "w"}, name="b")).body["data"] == {"k": "w"}


async def test_keyed_lists_are_merged_and_defaults_applied():
    rule = {**RULE, "apiGroups": ["apps"], "resources": ["deployments"]}
    pod = "Object.spec.template.spec"
    config = f"Object{{spec: Object.spec{{template: Object.spec.template{{spec: {pod}{{initContainers: [{pod}.initContainers{{name: 'i', image: 'j'}}]}}}}}}}}"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    async with mutating() as server:
        await mutate(server, applying(config), rule=rule)
        deployment = await server.make(
            DEPLOYMENTS, spec={"selector": {"matchLabels": {"a": "b"}}, "template": template}
        )
        (container,) = deployment["spec"]["template"]["spec"]["initContainers"]
        assert (container["name"], container["imagePullPolicy"]) == ("i", "Always")


@pytest.mark.parametrize(
    ("mutation", "text"),
    [
        (applying("Object{data: Object.wrong{k: 'v'}}"), 'type mismatch: unexpected type name "Object.wrong"'),
        (applying("Object{none: 1}"), "error applying patch: failed to convert patch object to typed object: .none"),
        (
            applying("Object{data: {'k': string(object.x)}}"),
            "expression 'Object{data: {'k': string(object.x)}}' resulted",
        ),
        (patching("[JSONPatch{op: 'remove', path: '/data/none'}]"), "JSONPath: "),
        (
            applying("Object{metadata: Object.metadata{ownerReferences: [], finalizers: ['a/b'], managedFields: [1]}}"),
            "error applying patch: ",
        ),
    ],
)
async def test_failing_mutation_denies_the_write(mutation, text):
    async with mutating() as server:
        await mutate(server, mutation)
        answer = await server.write()
        assert (answer.code, answer.body["reason"]) == (403, "Invalid")
        assert denial(answer).startswith(text)
        assert answer.body["message"].startswith("policy 'p' with binding 'p' denied request: ")
        await server.merge(f"{GROUP}/mutatingadmissionpolicies/p", {"spec": {"failurePolicy": "Ignore"}})
        assert (await server.write()).code == 201


async def test_matching_policy_denies_a_request_in_a_missing_namespace():
    async with mutating() as server:
        await mutate(server, applying(ANNOTATE))
        answer = await server.call("POST", CONFIG_MAPS.replace("default", "none"), {"metadata": {"name": "a"}})
        assert (answer.code, answer.body["message"]) == (404, 'namespaces "none" not found')


async def test_misconfigured_policy_denies_the_write():
    async with mutating() as server:
        await mutate(server, applying(ANNOTATE), paramKind={"apiVersion": "x.example.com/v1", "kind": "Limit"})
        answer = await server.write()
        assert answer.body["message"] == (
            'policy "p" denied request: failed to configure policy: failed to find resource referenced by paramKind: '
            "'x.example.com/v1, Kind=Limit'"
        )


async def test_unknown_fields_are_an_internal_error():
    async with mutating() as server:
        await mutate(server, patching("[JSONPatch{op: 'add', path: '/nope', value: 1}]"))
        answer = await server.write()
        assert (answer.code, answer.body["message"]) == (
            500,
            'Internal error occurred: strict decoding error: unknown field "nope"',
        )


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("/data/k", "1", "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        (
            "/kind",
            "'Secret'",
            "failed to convert object: converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        ("/kind", "'Nope'", 'no kind "Nope" is registered for version "v1"'),
        (
            "/kind",
            "0",
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
        ),
    ],
)
async def test_patched_object_that_cannot_be_decoded_is_an_internal_error(path, value, message):
    async with mutating() as server:
        operation = f"JSONPatch{{op: 'replace', path: '{path}', value: {value}}}"
        await mutate(server, patching(f"[{operation}]"), failurePolicy="Ignore")
        answer = await server.write()
        assert (answer.code, answer.body["message"]) == (500, f"Internal error occurred: {message}")


async def test_applied_object_that_cannot_be_decoded_fails_the_policy():
    rule = {**RULE, "apiGroups": ["apps"], "resources": ["deployments"]}
    async with mutating() as server:
        await mutate(server, applying("Object{spec: Object.spec{replicas: 5000000000}}"), rule=rule)
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        answer = await server.call("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
        assert (answer.code, answer.body["reason"]) == (403, "Invalid")


async def test_match_conditions_and_bindings_select_writes():
    async with mutating() as server:
        conditions = [{"name": "c", "expression": "object.data.k == 'w'"}]
        await mutate(server, applying(ANNOTATE), matchConditions=conditions)
        await mutate(server, applying(ANNOTATE), name="unbound", bind=False)
        assert "annotations" not in (await server.write()).body["metadata"]
        assert "annotations" in (await server.write({"k": "w"}, name="b")).body["metadata"]


@pytest.mark.parametrize(("repeats", "count"), [("IfNeeded", "2"), ("Never", "1")])
async def test_policy_is_reinvoked_when_a_later_one_changed_the_object(repeats, count):
    async with mutating() as server:
        await mutate(server, applying(ANNOTATE), name="a", reinvocationPolicy=repeats)
        await mutate(server, applying("Object{data: {'l': 'x'}}"), name="b")
        assert (await server.write()).body["metadata"]["annotations"]["added"] == count


APPEND = "Object{data: {'l': ('l' in object.data ? object.data.l : '') + 'x'}}"


@pytest.mark.parametrize(("policy", "count"), [("IfNeeded", 2), ("Never", 1)])
async def test_policy_is_reinvoked_after_its_own_change(policy, count):
    async with mutating() as server:
        await mutate(server, applying(APPEND), reinvocationPolicy=policy)
        assert (await server.write()).body["data"]["l"] == "x" * count


async def test_policy_without_match_in_the_first_run_is_not_invoked_in_the_second():
    async with mutating() as server:
        conditions = [{"name": "c", "expression": "'l' in object.data"}]
        await mutate(server, applying(ANNOTATE), name="a", matchConditions=conditions, reinvocationPolicy="IfNeeded")
        await mutate(server, applying(APPEND), name="b")
        assert "annotations" not in (await server.write()).body["metadata"]


class Counting(Plugin):
    """An in-tree plugin that counts its runs."""

    name: ClassVar[str] = "NamespaceLifecycle"

    def __init__(self, registry, *, authorizer):
        pass

    def handles(self, resource, subresource, operation):
        return resource.name == "configmaps"

    async def admit(self, attributes):
        notes = attributes.object["metadata"].setdefault("annotations", {})
        notes["runs"] = str(int(notes.get("runs", "0")) + 1)


async def test_in_tree_plugins_run_again_after_a_policy_was_applied():
    async with mutating(Counting) as server:
        assert (await server.write(name="a")).body["metadata"]["annotations"]["runs"] == "1"
        await mutate(server, applying(APPEND))
        assert (await server.write(name="b")).body["metadata"]["annotations"]["runs"] == "2"


async def test_validating_policies_see_mutated_objects():
    async with mutating(ValidatingAdmissionPolicy) as server:
        await mutate(server, applying("Object{data: {'l': 'x'}}"))
        await server.enforce("object.data.l == 'x'")
        assert (await server.write()).code == 201


async def test_subresource_bodies_have_their_own_type():
    rule = {**RULE, "resources": ["pods/binding"]}
    async with mutating() as server:
        await mutate(
            server, applying("Object{metadata: Object.metadata{labels: {'to': object.target.name}}}"), rule=rule
        )
        attributes = Attributes(
            Operation.CREATE,
            server.registry.get("", "v1", "pods"),
            RequestContext(USER, server.clock.now(), namespace="default"),
            name="a",
            obj={
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "a"},
                "target": {"kind": "Node", "name": "n"},
            },
            subresource="binding",
        )
        await server.admission.steps(attributes.served, "binding", Operation.CREATE).mutate(attributes)
        assert attributes.object["metadata"]["labels"] == {"to": "n"}
        assert attributes.object["target"] == {"kind": "Node", "name": "n"}
