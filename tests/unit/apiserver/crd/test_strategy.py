"""The strategy made from a definition."""

from datetime import UTC, datetime

from steersman.apiserver.crd.definition import served_versions
from steersman.apiserver.crd.strategy import CustomResourceStrategy
from steersman.apiserver.request import RequestContext, UserInfo

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
CONTEXT = RequestContext(UserInfo("a"), NOW, version="v1")


def strategy(**version: object) -> CustomResourceStrategy:
    names = {"plural": "shirts", "singular": "shirt", "kind": "Shirt", "listKind": "ShirtList"}
    one = {"name": "v1", "served": True, "storage": True, **version}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [one]}
    return CustomResourceStrategy(served_versions({"spec": spec, "status": {"acceptedNames": names}}), stored="v1")


def shirt(**more: object) -> dict:
    return {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}, **more}


def test_without_columns_there_are_name_and_age():
    plain = strategy()
    assert [c.name for c in plain.columns] == ["Name", "Age"]
    assert plain.cells(shirt(), NOW) == ["a", "60s"]


def test_columns_show_what_lies_at_their_paths():
    own = strategy(
        additionalPrinterColumns=[
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Tags", "type": "string", "jsonPath": ".spec.tags[*]"},
        ]
    )
    assert own.cells(shirt(spec={"size": 3, "tags": ["x", "y"]}), NOW) == ["a", 3, "x,y"]
    assert own.cells(shirt(), NOW) == ["a", None, None]


def test_columns_without_a_text_tell_their_paths():
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    own = strategy(additionalPrinterColumns=[column, {**column, "description": "How large."}])
    assert [c.text() for c in own.columns[1:]] == [
        "Custom resource definition column (in JSONPath format): .spec.size",
        "How large.",
    ]
    assert strategy().columns[1].text().startswith("CreationTimestamp is ")


def test_status_is_dropped_on_create_only_with_the_subresource():
    with_status, without = shirt(status={"s": 1}), shirt(status={"s": 1})
    strategy(subresources={"status": {}}).prepare_for_create(CONTEXT, with_status)
    strategy().prepare_for_create(CONTEXT, without)
    assert "status" not in with_status
    assert without["status"] == {"s": 1}


def test_generation_counts_status_only_without_the_subresource():
    tree = shirt(spec=1, other=2, status=3)
    assert strategy(subresources={"status": {}}).generation_view(tree) == {"spec": 1, "other": 2}
    assert strategy().generation_view(tree) == {"spec": 1, "other": 2, "status": 3}


def test_selectable_fields_are_field_labels():
    labels = strategy(selectableFields=[{"jsonPath": ".spec.color"}]).field_labels
    assert labels["spec.color"](shirt(spec={"color": "red"})) == "red"
    assert labels["spec.color"](shirt()) == ""


def test_a_deprecated_version_warns():
    assert strategy(deprecated=True, deprecationWarning="use v2").warnings(CONTEXT, shirt(), None) == ["use v2"]
