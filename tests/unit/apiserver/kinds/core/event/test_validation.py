"""Validation of Events."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import STAMP, error_texts, tree

from steersman.apiserver.kinds.core.event.validation import validate_event, validate_event_update

NEW = {
    "eventTime": "2026-01-01T00:01:00.000000Z",
    "reportingComponent": "example.com/controller",
    "reportingInstance": "i",
    "action": "Do",
    "reason": "Because",
    "type": "Normal",
    "involvedObject": {"namespace": "n"},
}
#: Metadata of an update.
STORED = {"resourceVersion": "1"}
MISMATCH = "does not match event.namespace"


def old_style(namespace: str, involved: str) -> list[str]:
    obj = tree({"namespace": namespace}, involvedObject={"namespace": involved})
    return error_texts(validate_event(obj, is_strict=False))


@pytest.mark.parametrize(("namespace", "involved"), [("n", "n"), ("default", ""), ("", "")])
def test_validate_event_accepts_namespace_of_involved_object(namespace: str, involved: str):
    assert old_style(namespace, involved) == []


@pytest.mark.parametrize(("namespace", "involved"), [("n", "m"), ("n", ""), ("kube-system", "")])
def test_validate_event_rejects_mismatching_namespaces(namespace: str, involved: str):
    assert old_style(namespace, involved) == [f'involvedObject.namespace: Invalid value: "{involved}": {MISMATCH}']


@pytest.mark.parametrize("namespace", ["default", "kube-system"])
def test_validate_event_accepts_default_and_kube_system_for_cluster_scoped_objects(namespace: str):
    obj = tree({"namespace": namespace}, **{**NEW, "involvedObject": {}})
    assert error_texts(validate_event(obj, is_strict=False)) == []


@pytest.mark.parametrize("is_strict", [True, False])
def test_validate_event_accepts_complete_new_event(is_strict: bool):
    assert error_texts(validate_event(tree(**NEW), is_strict=is_strict)) == []


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"action": ""}, "action: Required value"),
        ({"reason": ""}, "reason: Required value"),
        ({"reportingInstance": ""}, "reportingInstance: Required value"),
        ({"action": "a" * 129}, 'action: Invalid value: "": can have at most 128 characters'),
        ({"reportingInstance": "a" * 129}, 'reportingInstance: Invalid value: "": can have at most 128 characters'),
        ({"message": "a" * 1025}, 'message: Invalid value: "": can have at most 1024 characters'),
    ],
)
def test_validate_event_rejects_incomplete_and_too_long_fields(part: dict, fault: str):
    assert error_texts(validate_event(tree(**{**NEW, **part}), is_strict=False)) == [fault]


@pytest.mark.parametrize(("is_strict", "name"), [(True, "reportingController"), (False, "reportingComponent")])
def test_validate_event_names_reporting_component_in_version_of_request(is_strict: bool, name: str):
    (fault,) = error_texts(validate_event(tree(**{**NEW, "reportingComponent": "a/b/c"}), is_strict=is_strict))
    assert fault.startswith(f'{name}: Invalid value: "a/b/c"')


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"type": "Odd"}, 'type: Invalid value: "": has invalid value: Odd'),
        ({"count": 1}, 'count: Invalid value: "": needs to be unset'),
        ({"firstTimestamp": STAMP}, 'firstTimestamp: Invalid value: "": needs to be unset'),
        ({"source": {"component": "c"}}, 'source: Invalid value: "": needs to be unset'),
        (
            {"series": {"count": 1, "lastObservedTime": STAMP}},
            'series.count: Invalid value: "": should be at least 2',
        ),
        ({"series": {"count": 2}}, "series.lastObservedTime: Required value"),
    ],
)
def test_validate_event_is_stricter_through_events_group(part: dict, fault: str):
    obj = tree(**{**NEW, **part})
    assert error_texts(validate_event(obj, is_strict=True)) == [fault]
    assert error_texts(validate_event(obj, is_strict=False)) == []


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"related": None}, "related: Invalid value: null"),
        ({"eventTime": None}, "eventTime: Invalid value: null"),
        ({"reason": None}, 'reason: Invalid value: ""'),
        ({"source": {"component": "c"}}, 'source: Invalid value: {"Component":"c","Host":""}'),
        (
            {"involvedObject": {"namespace": "n", "name": "p"}},
            (
                'involvedObject: Invalid value: {"Kind":"","Namespace":"n","Name":"p","UID":"","APIVersion":"",'
                '"ResourceVersion":"","FieldPath":""}'
            ),
        ),
    ],
)
def test_validate_event_update_shows_values_in_go_form(part: dict, fault: str):
    old = tree(**NEW, related={"name": "r"})
    faults = error_texts(validate_event_update({**old, **part}, old, is_strict=True))
    assert f"{fault}: field is immutable" in faults


def test_validate_event_update_reports_changed_series_before_immutable_fields():
    old = tree(STORED, **NEW, series={"count": 1})
    faults = error_texts(validate_event_update({**old, "message": "m"}, old, is_strict=True))
    assert faults == ['message: Invalid value: "m": field is immutable']
    faults = error_texts(validate_event_update({**old, "message": "m", "series": {"count": 0}}, old, is_strict=True))
    assert [fault.partition(":")[0] for fault in faults] == ["series.count", "series.lastObservedTime", "message"]


def test_validate_event_update_accepts_only_series_changes_through_events_group():
    series = {"count": 2, "lastObservedTime": STAMP}
    assert (
        error_texts(validate_event_update(tree(STORED, **NEW, series=series), tree(STORED, **NEW), is_strict=True))
        == []
    )
    assert error_texts(
        validate_event_update(tree(STORED, **NEW, note="n", message="m"), tree(STORED, **NEW), is_strict=True)
    ) == ['message: Invalid value: "m": field is immutable']
    assert (
        error_texts(validate_event_update(tree(STORED, **NEW, message="m"), tree(STORED, **NEW), is_strict=False)) == []
    )


BAD_METADATA = {**STORED, "labels": {"B!": "x"}, "finalizers": ["zz"]}


def test_validate_event_checks_metadata_through_events_group_only():
    event = tree(BAD_METADATA, **NEW)
    strict = [fault.partition(":")[0] for fault in error_texts(validate_event(event, is_strict=True))]
    assert strict == ["metadata.labels", "metadata.finalizers[0]"]
    assert error_texts(validate_event(event, is_strict=False)) == []


def test_validate_event_update_checks_metadata_through_events_group_only():
    old, new = tree(STORED, **NEW), tree({**BAD_METADATA, "managedFields": [{"manager": "m"}]}, **NEW)
    strict = [fault.partition(":")[0] for fault in error_texts(validate_event_update(new, old, is_strict=True))]
    assert strict == ["metadata.labels", "metadata.finalizers[0]"]
    assert error_texts(validate_event_update(new, old, is_strict=False)) == []
