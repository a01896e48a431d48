"""Namespaces."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, is_idempotent, told, tree

from steersman.apiserver.kinds.core.namespace import NamespaceStrategy

KIND = NamespaceStrategy()
NAME = "kubernetes.io/metadata.name"


def test_a_namespace_is_labelled_with_its_name_whatever_clients_say():
    assert defaulted(KIND, tree({"labels": {NAME: "x", "l": "v"}}))["metadata"]["labels"] == {NAME: "a", "l": "v"}


def test_one_whose_name_is_made_up_later_is_labelled_then():
    obj = {"metadata": {"generateName": "g-"}}
    KIND.default(obj, "v1")
    obj["metadata"]["name"] = "g-1"
    KIND.canonicalize(obj)
    assert obj["metadata"]["labels"] == {NAME: "g-1"}


def test_defaulting_again_changes_nothing():
    assert is_idempotent(KIND, tree())


@pytest.mark.parametrize(
    ("said", "finalizers"),
    [
        ({}, ["kubernetes"]),
        ({"finalizers": ["a/b"]}, ["a/b", "kubernetes"]),
        ({"finalizers": ["kubernetes"]}, ["kubernetes"]),
    ],
)
def test_a_new_one_is_active_and_waits_for_its_content_to_go(said: dict, finalizers: list[str]):
    obj = tree(spec=said, status={"phase": "Terminating"})
    KIND.prepare_for_create(context(), obj)
    assert (obj["status"], obj["spec"]["finalizers"]) == ({"phase": "Active"}, finalizers)


def test_an_update_changes_no_finalizers():
    obj = tree(spec={"finalizers": []}, status={})
    KIND.prepare_for_update(context(), obj, tree(spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"}))
    assert obj == tree(spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})


def test_finalize_changes_no_status():
    obj = tree(spec={"finalizers": []}, status={})
    KIND.prepare_for_finalize(context(), obj, tree(status={"phase": "Terminating"}))
    assert obj == tree(spec={"finalizers": []}, status={"phase": "Terminating"})


@pytest.mark.parametrize(
    ("spec", "done"), [({"finalizers": ["kubernetes"]}, False), ({"finalizers": []}, True), ({}, True)]
)
def test_it_goes_when_no_finalizer_is_left(spec: dict, done: bool):
    assert KIND.is_finalized(tree(spec=spec)) is done


def test_a_delete_shows_in_the_phase():
    obj = tree(status={"phase": "Active"})
    KIND.mark_terminating(obj)
    assert obj["status"] == {"phase": "Terminating"}


@pytest.mark.parametrize("name", ["kubernetes", "orphan", "foregroundDeletion", "example.com/own"])
def test_finalizers_are_kubernetes_own_or_have_a_domain(name: str):
    assert told(KIND.validate(context(), tree(spec={"finalizers": [name]}))) == []


def test_others_are_refused():
    obj = tree(spec={"finalizers": ["plain"]})
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    assert told(KIND.validate(context(), obj)) == [f'spec.finalizers: Invalid value: "plain": {detail}']
    assert told(KIND.validate_finalize(context(), obj, obj)) == [
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
def test_the_phase_fits_the_time_of_deletion(metadata: dict, phase: str, faults: list[str]):
    obj = tree(metadata, status={"phase": phase})
    assert told(KIND.validate_status_update(context(), obj, tree())) == faults


def test_names_are_labels_and_phases_can_be_selected():
    assert KIND.name_errors("a.b")
    assert not KIND.name_errors("a-b")
    assert KIND.field_labels["status.phase"](tree(status={"phase": "Active"})) == "Active"


def test_the_row_tells_the_phase():
    assert [column.name for column in KIND.columns] == ["Name", "Status", "Age"]
    assert KIND.cells(tree(status={"phase": "Active"}), NOW) == ["a", "Active", "60s"]
