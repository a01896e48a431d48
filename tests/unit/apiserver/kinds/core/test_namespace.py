"""Namespaces."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, error_texts, is_idempotent, tree

from steersman.apiserver.kinds.core.namespace import NamespaceStrategy

KIND = NamespaceStrategy()
NAME = "kubernetes.io/metadata.name"


def test_default_sets_name_label():
    assert defaulted(KIND, tree({"labels": {NAME: "x", "l": "v"}}))["metadata"]["labels"] == {NAME: "a", "l": "v"}


def test_prepare_for_create_sets_label_of_generated_name():
    obj = {"metadata": {"generateName": "g-"}}
    KIND.default(obj, "v1")
    obj["metadata"]["name"] = "g-1"
    KIND.canonicalize(obj)
    assert obj["metadata"]["labels"] == {NAME: "g-1"}


def test_default_is_idempotent():
    assert is_idempotent(KIND, tree())


@pytest.mark.parametrize(
    ("fields", "finalizers"),
    [
        ({}, ["kubernetes"]),
        ({"finalizers": ["a/b"]}, ["a/b", "kubernetes"]),
        ({"finalizers": ["kubernetes"]}, ["kubernetes"]),
    ],
)
def test_prepare_for_create_sets_phase_active_and_finalizer(fields: dict, finalizers: list[str]):
    obj = tree(spec=fields, status={"phase": "Terminating"})
    KIND.prepare_for_create(context(), obj)
    assert (obj["status"], obj["spec"]["finalizers"]) == ({"phase": "Active"}, finalizers)


def test_prepare_for_update_keeps_finalizers():
    obj = tree(spec={"finalizers": []}, status={})
    KIND.prepare_for_update(context(), obj, tree(spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"}))
    assert obj == tree(spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})


def test_prepare_for_finalize_keeps_status():
    obj = tree(spec={"finalizers": []}, status={})
    KIND.prepare_for_finalize(context(), obj, tree(status={"phase": "Terminating"}))
    assert obj == tree(spec={"finalizers": []}, status={"phase": "Terminating"})


@pytest.mark.parametrize(
    ("spec", "done"), [({"finalizers": ["kubernetes"]}, False), ({"finalizers": []}, True), ({}, True)]
)
def test_is_finalized_without_finalizers(spec: dict, done: bool):
    assert KIND.is_finalized(tree(spec=spec)) is done


def test_mark_terminating_sets_phase():
    obj = tree(status={"phase": "Active"})
    KIND.mark_terminating(obj)
    assert obj["status"] == {"phase": "Terminating"}


@pytest.mark.parametrize("name", ["kubernetes", "orphan", "foregroundDeletion", "example.com/own"])
def test_validate_finalize_accepts_kubernetes_and_qualified_finalizers(name: str):
    assert error_texts(KIND.validate(context(), tree(spec={"finalizers": [name]}))) == []


def test_validate_finalize_rejects_unqualified_finalizers():
    obj = tree(spec={"finalizers": ["plain"]})
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    assert error_texts(KIND.validate(context(), obj)) == [f'spec.finalizers: Invalid value: "plain": {detail}']
    assert error_texts(KIND.validate_finalize(context(), obj, obj)) == [
        f'spec.finalizers[0]: Invalid value: "plain": {detail}'
    ]


@pytest.mark.parametrize(
    ("metadata", "phase", "faults"),
    [
        ({}, "Active", []),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "Terminating", []),
        (
            {},
            "Terminating",
            ["status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"],
        ),
        (
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            "Active",
            ["status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"],
        ),
    ],
)
def test_validate_status_update_requires_phase_matching_deletion_timestamp(
    metadata: dict, phase: str, faults: list[str]
):
    obj = tree(metadata, status={"phase": phase})
    assert error_texts(KIND.validate_status_update(context(), obj, tree())) == faults


def test_name_is_dns_label_and_phase_is_selectable():
    assert KIND.name_errors("a.b")
    assert not KIND.name_errors("a-b")
    assert KIND.field_labels["status.phase"](tree(status={"phase": "Active"})) == "Active"


def test_cells_show_phase():
    assert [column.name for column in KIND.columns] == ["Name", "Status", "Age"]
    assert KIND.cells(tree(status={"phase": "Active"}), NOW) == ["a", "Active", "60s"]
