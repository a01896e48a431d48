"""The strategy made from a definition."""

from datetime import UTC, datetime

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.crd.definition import all_versions
from steersman.apiserver.crd.strategy import CustomResourceStrategy, DefinitionState, labels_of
from steersman.apiserver.request import RequestContext, UserInfo

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
CONTEXT = RequestContext(UserInfo("a"), NOW, version="v1")


def strategy(**version: object) -> CustomResourceStrategy:
    names = {"plural": "shirts", "singular": "shirt", "kind": "Shirt", "listKind": "ShirtList"}
    one = {"name": "v1", "served": True, "storage": True, **version}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [one]}
    (only,) = all_versions({"spec": spec, "status": {"acceptedNames": names}}).values()
    return CustomResourceStrategy(only, only, labels_of([only]), DefinitionState(), {})


def shirt(**more: object) -> dict:
    return {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}, **more}


def test_default_columns_are_name_and_age():
    plain = strategy()
    assert [c.name for c in plain.columns] == ["Name", "Age"]
    assert plain.cells(shirt(), NOW) == ["a", "60s"]


def test_columns_have_the_values_at_their_paths():
    own = strategy(
        additionalPrinterColumns=[
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Tags", "type": "string", "jsonPath": ".spec.tags[*]"},
        ]
    )
    assert own.cells(shirt(spec={"size": 3, "tags": ["x", "y"]}), NOW) == ["a", 3, "x"]
    assert own.cells(shirt(), NOW) == ["a", None, None]


@pytest.mark.parametrize(
    ("type_", "value", "cell"),
    [
        ("string", {"b": 1, "a": [True]}, '{"a":[true],"b":1}'),
        ("string", 1.5, "1.5"),
        ("string", 1234567.5, "1.2345675e+06"),
        ("string", True, "true"),
        ("string", None, "<no value>"),
        ("integer", 2.7, 2),
        ("integer", "2", None),
        ("integer", True, None),
        ("number", 2.5, 2.5),
        ("boolean", False, False),
        ("boolean", "true", None),
        ("date", "2026-01-01T00:00:00Z", "60s"),
        ("date", "yesterday", "<invalid>"),
        ("date", "2026-01-01T00:00:00+0000", "<invalid>"),
        ("date", "", "<unknown>"),
        ("date", 5, None),
    ],
)
def test_cells_have_the_type_of_their_column(type_, value, cell):
    own = strategy(additionalPrinterColumns=[{"name": "C", "type": type_, "jsonPath": ".spec"}])
    assert own.cells(shirt(spec=value), NOW) == ["a", cell]


def test_columns_end_before_the_first_malformed_path():
    paths = {"A": ".spec.a", "B": ".spec[", "C": ".spec.c"}
    own = strategy(additionalPrinterColumns=[{"name": n, "type": "string", "jsonPath": p} for n, p in paths.items()])
    assert [column.name for column in own.columns] == ["Name", "A"]
    assert own.cells(shirt(spec={"a": "x", "c": "y"}), NOW) == ["a", "x"]


def test_columns_without_a_description_have_their_path():
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


def test_objects_and_statuses_of_another_kind_are_invalid():
    own, coat = strategy(subresources={"status": {}}), shirt(kind="Coat")
    for validate in (own.validate_update, own.validate_status_update):
        with pytest.raises(
            StatusError, match=r'Coat\.example\.com "a" is invalid: kind: Invalid value: "Coat": must be Shirt'
        ):
            validate(CONTEXT, coat, shirt(kind="Shirt"))


def test_status_update_resets_the_kind():
    coat = shirt(kind="Coat", status={})
    strategy(subresources={"status": {}}).prepare_for_status_update(CONTEXT, coat, shirt(kind="Shirt"))
    assert coat["kind"] == "Shirt"


def test_selectable_fields_are_field_labels():
    labels = strategy(selectableFields=[{"jsonPath": ".spec.color"}]).field_labels
    assert labels["spec.color"](shirt(spec={"color": "red"})) == "red"
    assert labels["spec.color"](shirt()) == ""


def test_new_finalizers_without_a_domain_warn():
    held = shirt()
    held["metadata"]["finalizers"] = ["orphan", "example.com/hold", "hold", "x y"]
    texts = strategy().warnings(CONTEXT, held, shirt())
    advice = (
        "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer "
        "writers"
    )
    assert texts[0] == f'metadata.finalizers: "hold": {advice}'
    assert texts[1].startswith('metadata.finalizers: "x y": name part must consist of')
    assert texts[2] == f'metadata.finalizers: "x y": {advice}'
    assert strategy().warnings(CONTEXT, held, held) == []


def two_versions() -> tuple[CustomResourceStrategy, CustomResourceStrategy]:
    """Return the stored version, which has sizes only, and one that bounds them and has colours."""
    names = {"plural": "shirts", "kind": "Shirt"}
    small = {"type": "integer", "maximum": 5}
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": schema_of(size={"type": "integer"})},
        {"name": "v2", "served": True, "schema": schema_of(size=small, color={"type": "string"})},
    ]
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    v1, v2 = all_versions({"spec": spec, "status": {"acceptedNames": names}}).values()
    labels = labels_of([v1, v2])
    return CustomResourceStrategy(v1, v1, labels, DefinitionState(), {}), CustomResourceStrategy(
        v2, v1, labels, DefinitionState(), {}
    )


def schema_of(**properties: object) -> dict:
    spec = {"type": "object", "properties": properties}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


def test_object_is_validated_by_the_version_of_the_request():
    v1, v2 = two_versions()
    large = shirt(apiVersion="example.com/v1", kind="Shirt", spec={"size": 7})
    assert v1.validate(CONTEXT, large) == []
    (error,) = v2.validate(CONTEXT, large)
    assert error.field == "spec.size"


def test_fields_unknown_to_the_storage_version_are_pruned():
    _, v2 = two_versions()
    tree = shirt(apiVersion="example.com/v1", kind="Shirt", spec={"size": 1, "color": "red"})
    v2.canonicalize(tree)
    assert tree["spec"] == {"size": 1}


def test_unchanged_invalid_values_are_accepted_in_the_version_of_the_request():
    _, v2 = two_versions()
    old = shirt(apiVersion="example.com/v1", kind="Shirt", spec={"size": 7})
    assert v2.validate_update(CONTEXT, {**old, "metadata": {"name": "a", "labels": {"l": "m"}}}, old) == []


def test_status_update_validates_the_status_only():
    status = {"type": "object", "properties": {"n": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": status}, "required": ["spec"]}}
    own = strategy(schema=schema, subresources={"status": {}})
    (error,) = own.validate_status_update(CONTEXT, shirt(status={"n": "x"}), shirt(status={"n": 1}))
    assert str(error) == 'status.n: Invalid value: "string": n in body must be of type integer: "string"'
    assert own.validate_status_update(CONTEXT, shirt(status={"n": "x"}), shirt(status={"n": "x"})) == []


def test_errors_of_the_whole_object_have_no_path():
    own = strategy(schema={"openAPIV3Schema": {"type": "object", "not": {"required": ["spec"]}}})
    (error,) = own.validate(CONTEXT, shirt(spec=1))
    assert error.cause()["field"] == "<nil>"


def test_schema_may_restrict_names():
    name = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^b"}}}
    own = strategy(schema={"openAPIV3Schema": {"type": "object", "properties": {"metadata": name}}})
    assert [error.field for error in own.validate(CONTEXT, shirt())] == ["metadata.name"]
