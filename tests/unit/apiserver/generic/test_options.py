from __future__ import annotations

from steersman.apiserver.generic.options import DeleteOptions, WriteOptions


def test_options_tree_has_set_fields_only():
    assert WriteOptions().tree("CreateOptions") == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}
    options = WriteOptions(dry_run=True, field_manager="m", field_validation="Strict")
    assert options.tree("UpdateOptions") == {
        "kind": "UpdateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "dryRun": ["All"],
        "fieldManager": "m",
        "fieldValidation": "Strict",
    }


def test_delete_options_tree_has_set_fields_only():
    assert DeleteOptions().tree() == {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    options = DeleteOptions(
        dry_run=True,
        grace_period_seconds=0,
        propagation_policy="Orphan",
        precondition_uid="u",
        precondition_resource_version="7",
    )
    assert options.tree() == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/v1",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Orphan",
        "dryRun": ["All"],
    }
    assert DeleteOptions(orphan_dependents=False).tree()["orphanDependents"] is False
    assert DeleteOptions(sends_preconditions=True).tree()["preconditions"] == {}


def test_propagation_is_read_from_policy_or_orphan_dependents():
    assert not DeleteOptions().says_propagation
    assert DeleteOptions(propagation_policy="Background").says_propagation
    assert DeleteOptions(orphan_dependents=False).says_propagation


def test_field_validation_levels():
    assert WriteOptions(field_validation="Strict").strict
    assert WriteOptions(field_validation="Ignore").lenient
    default = WriteOptions()
    assert not default.strict
    assert not default.lenient
