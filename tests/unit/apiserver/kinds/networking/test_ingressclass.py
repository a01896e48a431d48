from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named, texts

from steersman.apiserver.kinds.networking.ingressclass import IngressClassStrategy

STRATEGY = IngressClassStrategy()
PARAMETERS = {"apiGroup": "example.com", "kind": "Config", "name": "c"}
CLASS = defaulted(STRATEGY, named(spec={"controller": "example.com/ingress", "parameters": dict(PARAMETERS)}))
SCOPED = "spec.parameters.scope"


def test_default_sets_cluster_scope_of_parameters():
    assert CLASS["spec"]["parameters"]["scope"] == "Cluster"


def test_default_adds_no_parameters():
    assert defaulted(STRATEGY, {"spec": {"controller": "a"}}) == {"spec": {"controller": "a"}}


@pytest.mark.parametrize(
    "edits", [{}, {"spec.parameters": None}, {SCOPED: "Namespace", "spec.parameters.namespace": "n"}]
)
def test_validate_accepts_valid_classes(edits):
    assert texts(STRATEGY.validate(CONTEXT, edited(CLASS, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.controller": ""}, "spec.controller: Required value"),
        (
            {"spec.controller": "plain"},
            'spec.controller: Invalid value: "plain": must be a domain-prefixed path (such as "acme.io/foo")',
        ),
        (
            {"spec.controller": "a.b/" + "c" * 250},
            "spec.controller: Too long: may not be more than 250 bytes",
        ),
        ({"spec.parameters.kind": ""}, "spec.parameters.kind: Required value"),
        ({"spec.parameters.name": "a/b"}, "spec.parameters.name: Invalid value: \"a/b\": may not contain '/'"),
        ({SCOPED: None}, "spec.parameters.scope: Required value"),
        ({SCOPED: "World"}, f'{SCOPED}: Unsupported value: "World": supported values: "Cluster", "Namespace"'),
        (
            {"spec.parameters.namespace": "n"},
            "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
        ),
        (
            {SCOPED: "Namespace"},
            "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
        ),
    ],
)
def test_validate_rejects_invalid_fields(edits, fault):
    assert texts(STRATEGY.validate(CONTEXT, edited(CLASS, edits))) == [fault]


def test_validate_rejects_empty_namespace():
    [fault] = texts(STRATEGY.validate(CONTEXT, edited(CLASS, {SCOPED: "Namespace", "spec.parameters.namespace": ""})))
    assert fault.startswith('spec.parameters.namespace: Invalid value: "": a lowercase RFC 1123 label')


def test_validate_update_rejects_change_of_controller():
    new = edited(CLASS, {"spec.controller": "example.com/other"})
    assert texts(STRATEGY.validate_update(CONTEXT, new, CLASS)) == [
        'spec.controller: Invalid value: "example.com/other": field is immutable'
    ]


@pytest.mark.parametrize(
    ("edits", "shown"),
    [
        ({}, "Config.example.com/c"),
        ({"spec.parameters.apiGroup": None}, "Config/c"),
        ({"spec.parameters": None}, "<none>"),
    ],
)
def test_cells_show_controller_and_parameters(edits, shown):
    assert STRATEGY.cells(edited(CLASS, edits), NOW) == ["a", "example.com/ingress", shown, "60s"]


@pytest.mark.parametrize(("value", "name"), [("true", "a (default)"), ("True", "a"), ("false", "a")])
def test_cells_mark_default_class(value, name):
    default = edited(CLASS, {"metadata.annotations": {"ingressclass.kubernetes.io/is-default-class": value}})
    assert STRATEGY.cells(default, NOW)[0] == name
