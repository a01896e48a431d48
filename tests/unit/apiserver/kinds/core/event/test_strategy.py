"""Strategy of Events."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import NOW, context, error_texts, tree

from steersman.apiserver.kinds.core.event.strategy import EventStrategy

KIND = EventStrategy()
OBJECT = {"kind": "Pod", "namespace": "n", "name": "p", "fieldPath": "spec"}
AGO = "2026-01-01T00:00:{}Z".format


def row(**parts: object) -> dict[str, object]:
    cells = KIND.cells(tree(involvedObject=OBJECT, **parts), NOW)
    return dict(zip((column.name for column in KIND.columns), cells, strict=True))


def test_propagation_policies_have_no_effect():
    """The garbage collector does not watch Events, thus nothing would remove the finalizer of a policy."""
    assert KIND.default_propagation == "none"


def test_columns_match_upstream():
    assert [column.name for column in KIND.columns if not column.priority] == [
        "Last Seen", "Type", "Reason", "Object", "Message",
    ]  # fmt: skip


def test_cells_show_first_and_last_timestamp_of_legacy_event():
    cells = row(firstTimestamp=AGO("00"), lastTimestamp=AGO(30), count=5, type="Normal", reason="R", message=" m\n")
    assert cells == {
        "Last Seen": "30s",
        "Type": "Normal",
        "Reason": "R",
        "Object": "pod/p",
        "Subobject": "spec",
        "Source": "",
        "Message": "m",
        "First Seen": "60s",
        "Count": 5,
        "Name": "a",
    }


def test_cells_show_event_time():
    cells = row(eventTime="2026-01-01T00:00:50.000000Z")
    assert (cells["Last Seen"], cells["First Seen"], cells["Count"]) == ("10s", "10s", 1)


def test_cells_show_series():
    series = {"lastObservedTime": "2026-01-01T00:00:55.000000Z", "count": 3}
    cells = row(eventTime="2026-01-01T00:00:50.000000Z", series=series)
    assert (cells["Last Seen"], cells["First Seen"], cells["Count"]) == ("5s", "10s", 3)


def test_cells_show_unknown_without_times():
    assert (row()["Last Seen"], row()["First Seen"]) == ("<unknown>", "<unknown>")


@pytest.mark.parametrize(
    ("parts", "source"),
    [
        ({"source": {"component": "kubelet", "host": "h"}}, "kubelet, h"),
        ({"source": {"component": "kubelet"}}, "kubelet"),
        ({"reportingComponent": "c", "reportingInstance": "i"}, "c, i"),
    ],
)
def test_cells_show_source(parts: dict, source: str):
    assert row(**parts)["Source"] == source


def test_field_labels_select_by_involved_object_and_source():
    obj = tree(involvedObject=OBJECT, reason="R", reportingComponent="c", type="Warning")
    labels = {
        "involvedObject.kind": "Pod",
        "involvedObject.uid": "",
        "reason": "R",
        "source": "c",
        "reportingComponent": "c",
        "type": "Warning",
    }
    assert {name: KIND.field_labels[name](obj) for name in labels} == labels


def test_validate_is_stricter_through_events_group():
    obj = tree(involvedObject=OBJECT)
    assert error_texts(KIND.validate(context(group_resource="events"), obj)) == []
    assert "eventTime: Required value" in error_texts(
        KIND.validate(context(group_resource="events.events.k8s.io"), obj)
    )


def test_names_are_dns_subdomains_through_events_group_only():
    obj = tree({"name": "Pod_a"}, involvedObject=OBJECT)
    assert not KIND.name_errors("Pod_a")
    assert KIND.name_errors("a/b")
    assert error_texts(KIND.validate(context(group_resource="events"), obj)) == []
    [fault, *_] = error_texts(KIND.validate(context(group_resource="events.events.k8s.io"), obj))
    assert fault.startswith('metadata.name: Invalid value: "Pod_a": a lowercase RFC 1123 subdomain')


def test_prepare_changes_nothing():
    obj = tree(status={"s": 1})
    KIND.prepare_for_create(context(), obj)
    KIND.prepare_for_update(context(), obj, tree())
    assert obj == tree(status={"s": 1})
