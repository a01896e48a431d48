"""ReplicationControllers."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, is_idempotent, template, told, tree

from steersman.apiserver.kinds.core.replicationcontroller import ReplicationControllerStrategy

KIND = ReplicationControllerStrategy()


def controller(**spec: object) -> dict:
    return tree(spec={"replicas": 1, "selector": {"x": "y"}, "template": template(), **spec})


def test_labels_of_the_template_select_and_label():
    obj = defaulted(KIND, tree(spec={"template": template()}))
    assert (obj["spec"]["selector"], obj["metadata"]["labels"], obj["spec"]["replicas"]) == ({"x": "y"}, {"x": "y"}, 1)


def test_what_is_said_stays():
    obj = defaulted(
        KIND, tree({"labels": {"l": "v"}}, spec={"replicas": 0, "selector": {"x": "y"}, "template": template()})
    )
    assert (obj["metadata"]["labels"], obj["spec"]["replicas"]) == ({"l": "v"}, 0)


@pytest.mark.parametrize("spec", [{}, {"template": template()}, {"replicas": 3}])
def test_defaulting_again_changes_nothing(spec: dict):
    assert is_idempotent(KIND, tree(spec=spec))


def test_a_usual_one_is_let_through():
    assert told(KIND.validate(context(), controller())) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"selector": {}}, "spec.selector: Required value"),
        ({"template": None}, "spec.template: Required value"),
        ({"replicas": -1}, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        ({"minReadySeconds": -1}, "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"selector": {"x": "z"}},
            'spec.template.metadata.labels: Invalid value: {"x":"y"}: `selector` does not match template `labels`',
        ),
        (
            {"template": {**template(), "metadata": {}}},
            "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
        ),
        (
            {"template": template(restartPolicy="Never")},
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        ),
        (
            {"template": template(activeDeadlineSeconds=5)},
            (
                "spec.template.spec.activeDeadlineSeconds: Forbidden: "
                "activeDeadlineSeconds in ReplicationController is not Supported"
            ),
        ),
    ],
)
def test_one_thing_wrong_is_told_at_creation_once_and_at_updates_twice(spec: dict, fault: str):
    assert told(KIND.validate(context(), controller(**spec))) == [fault]
    assert told(KIND.validate_update(context(), controller(**spec), controller())) == [fault] * 2


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        ({"replicas": 2, "readyReplicas": 2, "availableReplicas": 1}, []),
        (
            {"readyReplicas": -1},
            [
                "status.readyReplicas: Invalid value: -1: must be greater than or equal to 0",
                "status.availableReplicas: Invalid value: 0: cannot be greater than readyReplicas",
            ],
        ),
        (
            {"replicas": 1, "readyReplicas": 2},
            ["status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"],
        ),
        (
            {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2},
            ["status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas"],
        ),
    ],
)
def test_counts_of_the_status_fit_together(status: dict, faults: list[str]):
    obj = {**controller(), "status": status}
    assert told(KIND.validate_status_update(context(), obj, obj)) == faults


def test_nothing_is_no_more_than_less_than_nothing():
    obj = {**controller(), "status": {"replicas": -1}}
    assert told(KIND.validate_status_update(context(), obj, obj)) == [
        "status.replicas: Invalid value: -1: must be greater than or equal to 0",
        *(
            f"status.{name}: Invalid value: 0: cannot be greater than status.replicas"
            for name in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        ),
    ]


def test_a_new_one_has_no_pods():
    obj = {**controller(), "status": {"replicas": 7}}
    KIND.prepare_for_create(context(), obj)
    assert obj["status"] == {"replicas": 0}


def test_a_delete_without_a_policy_leaves_the_pods():
    assert KIND.default_propagation == "orphan"


def test_the_row_counts_pods():
    obj = {**controller(replicas=3), "status": {"replicas": 2, "readyReplicas": 1}}
    assert [c.name for c in KIND.columns] == [
        "Name", "Desired", "Current", "Ready", "Age", "Containers", "Images", "Selector",
    ]  # fmt: skip
    assert KIND.cells(obj, NOW) == ["a", 3, 2, 1, "60s", "c", "i", "x=y"]
    assert KIND.field_labels["status.replicas"](obj) == "2"
