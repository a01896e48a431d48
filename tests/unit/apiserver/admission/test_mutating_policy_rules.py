from __future__ import annotations

import pytest

from steersman.apiserver.admission.mutating_policy_rules import MutatingRules
from steersman.apiserver.admission.validating_policy_rules import EvaluationError
from steersman.schema.loader import struct_for

POD = struct_for("", "v1", "Pod")


def mutate_object(expression, obj=None, *, patch_type="ApplyConfiguration", **spec):
    key = "applyConfiguration" if patch_type == "ApplyConfiguration" else "jsonPatch"
    rules = MutatingRules({"mutations": [{"patchType": patch_type, key: {"expression": expression}}], **spec})
    obj = obj or {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}
    return rules.mutate(0, obj, {"object": obj}, POD)


def test_variables_can_hold_partial_objects():
    variables = [{"name": "meta", "expression": "Object.metadata{labels: {'a': 'b'}}"}]
    assert mutate_object("Object{metadata: variables.meta}", variables=variables)["metadata"] == {
        "name": "a",
        "labels": {"a": "b"},
    }


def test_cel_values_are_converted_to_json():
    patch = "[JSONPatch{op: 'add', path: '/spec/x', value: [dyn(1u), dyn(duration('1s')), dyn(b'a'), dyn({'k': 2.5})]}]"
    assert mutate_object(patch, patch_type="JSONPatch")["spec"]["x"] == [1, "1s", "YQ==", {"k": 2.5}]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'a'}]}}",
            (
                "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
                ".spec.tolerations"
            ),
        ),
        (
            "Object{spec: Object.spec{priority: quantity('1')}}",
            "unsupported type conversion from 'kubernetes.Quantity' to google.protobuf.Value",
        ),
        ("Object{spec: Object.spec{priority: nope}}", "compilation error: compilation failed: "),
    ],
)
def test_invalid_mutation_raises(expression, message):
    with pytest.raises(EvaluationError) as raised:
        mutate_object(expression)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "quantity('1')",
            "JSONPath valueExpression evaluated to a type that could not marshal to JSON: unsupported type conversion",
        ),
        (
            "Object.spec{template: Object.wrong{}}",
            'type mismatch: unexpected type name "Object.wrong", expected "Object.spec.template", which matches field name',
        ),
    ],
)
def test_invalid_value_of_json_patch_raises(value, message):
    with pytest.raises(EvaluationError) as raised:
        mutate_object(f"[JSONPatch{{op: 'add', path: '/spec/x', value: {value}}}]", patch_type="JSONPatch")
    assert str(raised.value).startswith(message)
