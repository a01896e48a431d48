from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named, texts

from steersman.apiserver.kinds.rbac.rolebinding import RoleBindingStrategy
from steersman.apiserver.kinds.rbac.shared.bindings import GROUP

STRATEGY = RoleBindingStrategy()
ROLE = {"apiGroup": GROUP, "kind": "Role", "name": "r"}
SUBJECTS = [
    {"kind": "User", "name": "u", "apiGroup": GROUP},
    {"kind": "Group", "name": "g", "apiGroup": GROUP},
    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
]
BINDING = named(roleRef=ROLE, subjects=SUBJECTS)


def test_default_sets_api_groups_of_role_users_and_groups():
    tree = {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": s["kind"]} for s in SUBJECTS]}
    filled = defaulted(STRATEGY, tree)
    assert filled["roleRef"]["apiGroup"] == GROUP
    assert [subject.get("apiGroup") for subject in filled["subjects"]] == [GROUP, GROUP, None]


def test_validate_accepts_valid_bindings():
    assert texts(STRATEGY.validate(CONTEXT, BINDING)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"roleRef.apiGroup": "x"}, f'roleRef.apiGroup: Unsupported value: "x": supported values: "{GROUP}"'),
        ({"roleRef.name": ""}, "roleRef.name: Required value"),
        ({"roleRef.name": "a/b"}, "roleRef.name: Invalid value: \"a/b\": may not contain '/'"),
        ({"subjects.0.name": ""}, "subjects[0].name: Required value"),
        (
            {"subjects.0.apiGroup": ""},
            f'subjects[0].apiGroup: Unsupported value: "": supported values: "{GROUP}"',
        ),
        (
            {"subjects.2.apiGroup": "x"},
            'subjects[2].apiGroup: Unsupported value: "x": supported values: ""',
        ),
        (
            {"subjects.1.kind": "Crowd"},
            'subjects[1].kind: Unsupported value: "Crowd": supported values: "ServiceAccount", "User", "Group"',
        ),
    ],
)
def test_validate_rejects_invalid_fields(edits, fault):
    assert texts(STRATEGY.validate(CONTEXT, edited(BINDING, edits))) == [fault]


def test_validate_update_rejects_change_of_role_ref():
    [fault] = texts(STRATEGY.validate_update(CONTEXT, edited(BINDING, {"roleRef.name": "other"}), BINDING))
    assert fault.startswith("roleRef: Invalid value: {")
    assert fault.endswith(": cannot change roleRef")


def test_validate_update_accepts_change_of_subjects():
    assert texts(STRATEGY.validate_update(CONTEXT, edited(BINDING, {"subjects": []}), BINDING)) == []


def test_put_to_missing_name_creates():
    assert STRATEGY.allow_create_on_update is True


@pytest.mark.parametrize(("name", "is_fine"), [("system:node", True), ("A B", True), ("a/b", False), ("..", False)])
def test_name_errors_accept_any_path_segment(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine


def test_cells_show_subjects_by_kind():
    assert STRATEGY.cells(BINDING, NOW) == ["a", "Role/r", "60s", "u", "g", "n/s"]
