"""StorageVersionMigrations."""

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, CREATED, NOW, named

from steersman.apiserver.kinds.storagemigration.storageversionmigration import StorageVersionMigrationStrategy

STRATEGY = StorageVersionMigrationStrategy()


def migration(resource="screens", group="example.com", **status):
    return named(spec={"resource": {"group": group, "resource": resource}}, status=status)


def conditions(*types):
    return [
        {"type": item, "status": "True", "reason": "R", "message": "", "lastTransitionTime": CREATED} for item in types
    ]


def test_resource_is_required_and_immutable():
    assert [str(item) for item in STRATEGY.validate(CONTEXT, migration(resource=""))] == [
        "spec.resource.resource: Required value: resource is required"
    ]
    errors = STRATEGY.validate_update(CONTEXT, migration(resource="b", group=""), migration())
    assert [(error.field, error.detail) for error in errors] == [
        ("group", "field is immutable"),
        ("resource", "field is immutable"),
    ]
    assert not STRATEGY.validate_update(CONTEXT, migration(), migration())


@pytest.mark.parametrize(
    ("new", "old", "detail"),
    [
        ({"resourceVersion": "x"}, {}, 'failed to parse resource version "x"'),
        ({"resourceVersion": "9223372036854775808"}, {}, 'parsing "9223372036854775808": value out of range'),
        ({"resourceVersion": "1" * 5000}, {}, "value out of range"),
        ({"resourceVersion": "-01"}, {}, "must be greater than or equal to 0"),
        ({"resourceVersion": "-1"}, {}, "must be greater than or equal to 0"),
        ({"resourceVersion": "2"}, {"resourceVersion": "1"}, "cannot be updated"),
        ({"conditions": conditions("Succeeded", "Failed")}, {}, "Both success and failed"),
        ({"conditions": conditions("Succeeded", "Running")}, {}, "when success condition is true"),
        ({"conditions": conditions("Failed", "Running")}, {}, "when failed condition is true"),
        ({}, {"conditions": conditions("Succeeded")}, "Success condition cannot be set to false"),
        ({}, {"conditions": conditions("Failed")}, "Failed condition cannot be set to false"),
    ],
)
def test_status_update_is_validated(new, old, detail):
    [error] = STRATEGY.validate_status_update(CONTEXT, migration(**new), migration(**old))
    assert detail in error.detail


def test_status_update_of_a_running_migration_is_valid():
    status = {"resourceVersion": "7", "conditions": conditions("Running")}
    assert not STRATEGY.validate_status_update(CONTEXT, migration(**status), migration())


def test_status_update_keeps_spec_and_metadata():
    new = migration(resource="other", resourceVersion="7")
    new["metadata"] |= {"labels": {"a": "b"}, "finalizers": ["example.com/a"]}
    STRATEGY.prepare_for_status_update(CONTEXT, new, migration())
    assert new == migration(resourceVersion="7")


def test_table_row_has_the_resource():
    assert STRATEGY.cells(migration(), NOW) == ["a", "screens.example.com"]
    assert STRATEGY.cells(migration("pods", ""), NOW) == ["a", "pods"]
