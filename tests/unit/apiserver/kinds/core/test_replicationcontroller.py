"""ReplicationControllers."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, error_texts, is_idempotent, template, tree

from steersman.apiserver.kinds.core.replicationcontroller import ReplicationControllerStrategy

KIND = ReplicationControllerStrategy()


def controller(**spec: object) -> dict:
    return tree(spec={"replicas": 1, "selector": {"x": "y"}, "template": template(), **spec})


def test_default_copies_template_labels_to_selector_and_labels():
    obj = defaulted(KIND, tree(spec={"template": template()}))
    assert (obj["spec"]["selector"], obj["metadata"]["labels"], obj["spec"]["replicas"]) == ({"x": "y"}, {"x": "y"}, 1)


def test_default_keeps_given_fields():
    obj = defaulted(
        KIND, tree({"labels": {"l": "v"}}, spec={"replicas": 0, "selector": {"x": "y"}, "template": template()})
    )
    assert (obj["metadata"]["labels"], obj["spec"]["replicas"]) == ({"l": "v"}, 0)


@pytest.mark.parametrize("spec", [{}, {"template": template()}, {"replicas": 3}])
def test_default_is_idempotent(spec: dict):
    assert is_idempotent(KIND, tree(spec=spec))


def test_validate_accepts_valid_controller():
    assert error_texts(KIND.validate(context(), controller())) == []


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
def test_validate_update_reports_errors_twice(spec: dict, fault: str):
    assert error_texts(KIND.validate(context(), controller(**spec))) == [fault]
    assert error_texts(KIND.validate_update(context(), controller(**spec), controller())) == [fault] * 2


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
def test_validate_status_update_rejects_inconsistent_counts(status: dict, faults: list[str]):
    obj = {**controller(), "status": status}
    assert error_texts(KIND.validate_status_update(context(), obj, obj)) == faults


def test_validate_status_update_reports_absent_counts_above_negative_replicas():
    obj = {**controller(), "status": {"replicas": -1}}
    assert error_texts(KIND.validate_status_update(context(), obj, obj)) == [
        "status.replicas: Invalid value: -1: must be greater than or equal to 0",
        *(
            f"status.{name}: Invalid value: 0: cannot be greater than status.replicas"
            for name in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        ),
    ]


def test_prepare_for_create_sets_zero_replicas_in_status():
    obj = {**controller(), "status": {"replicas": 7}}
    KIND.prepare_for_create(context(), obj)
    assert obj["status"] == {"replicas": 0}


def test_default_propagation_orphans_pods():
    assert KIND.default_propagation == "orphan"


def test_cells_count_pods():
    obj = {**controller(replicas=3), "status": {"replicas": 2, "readyReplicas": 1}}
    assert [c.name for c in KIND.columns] == [
        "Name", "Desired", "Current", "Ready", "Age", "Containers", "Images", "Selector",
    ]  # fmt: skip
    assert KIND.cells(obj, NOW) == ["a", 3, 2, 1, "60s", "c", "i", "x=y"]
    assert KIND.field_labels["status.replicas"](obj) == "2"
