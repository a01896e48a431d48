"""Server-side apply."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.managedfields.applying import apply
from steersman.apimachinery.managedfields.fieldset import leaves
from steersman.apimachinery.managedfields.lastapplied import ANNOTATION
from steersman.apimachinery.managedfields.schema import UnknownVersionError
from steersman.apimachinery.managedfields.shapes import root_shape
from steersman.apimachinery.managedfields.updating import update

T1, T2 = "2024-01-01T00:00:01Z", "2024-01-01T00:00:02Z"


def without_nulls(tree):
    """Drop nulls, as decoding does."""
    if isinstance(tree, dict):
        return {key: without_nulls(value) for key, value in tree.items() if value is not None}
    return [without_nulls(item) for item in tree] if isinstance(tree, list) else tree


class Cluster:
    """One object of a kind, and its writers."""

    def __init__(self, struct, kind, api_version) -> None:
        self.struct = struct
        self.kind = kind
        self.api_version = api_version
        self.live = None

    def config(self, more, **metadata):
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": "a", **metadata}, **more}

    def apply(self, manager, more, *, force=False, time=T1, metadata=None, **options):
        self.live = apply(
            self.live,
            self.config(more, **metadata or {}),
            struct=self.struct,
            kind=self.kind,
            manager=manager,
            force=force,
            api_version=self.api_version,
            time=time,
            defaulter=without_nulls,
            **options,
        )
        self.live["metadata"].setdefault("uid", "u")
        return self.live

    def update(self, manager, more, *, time=T1, **metadata):
        new = self.config(copy.deepcopy(more), uid="u", **metadata)
        update(self.live, new, struct=self.struct, manager=manager, api_version=self.api_version, time=time)
        self.live = new
        return new

    def owners(self):
        return {
            entry["manager"]: (entry["fieldsV1"], entry.get("time"))
            for entry in self.live["metadata"].get("managedFields", [])
        }

    def fields(self):
        return {manager: fields for manager, (fields, _) in self.owners().items()}


@pytest.fixture
def maps(config_map):
    return Cluster(config_map, "ConfigMap", "v1")


@pytest.fixture
def widgets(widget):
    return Cluster(widget, "Widget", "e/v1")


def test_apply_owns_the_applied_fields(maps):
    maps.apply("one", {"data": {"k": "v"}}, metadata={"labels": {"x": "y"}, "namespace": "ns"})
    assert maps.live["data"] == {"k": "v"}
    assert maps.owners() == {"one": ({"f:data": {"f:k": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}, T1)}


def test_apply_removes_fields_that_are_no_longer_applied(maps):
    maps.apply("one", {"data": {"k": "v", "l": "w"}})
    maps.apply("one", {"data": {"l": "w"}}, time=T2)
    assert maps.live["data"] == {"l": "w"}
    assert maps.owners() == {"one": ({"f:data": {"f:l": {}}}, T2)}


def test_apply_removes_a_map_with_its_last_key(maps):
    maps.apply("one", {"data": {"k": "v"}})
    maps.apply("one", {})
    assert "data" not in maps.live
    assert maps.owners() == {}


def test_apply_keeps_a_field_that_another_manager_owns(maps):
    maps.apply("one", {"data": {"k": "v"}})
    maps.apply("two", {"data": {"k": "v"}})
    maps.apply("one", {})
    assert maps.live["data"] == {"k": "v"}
    maps.apply("two", {})
    assert "data" not in maps.live


def test_apply_sets_no_time_for_an_owner_without_changes(maps):
    maps.apply("one", {"data": {"k": "v"}})
    maps.apply("two", {"data": {"k": "v"}}, time=T2)
    assert maps.owners()["two"] == ({"f:data": {"f:k": {}}}, None)


def test_apply_is_a_no_op_when_repeated(maps):
    before = copy.deepcopy(maps.apply("one", {"data": {"k": "v"}}))
    assert maps.apply("one", {"data": {"k": "v"}}, time=T2) == before


def test_apply_conflicts_with_the_value_of_another_manager(maps):
    maps.apply("one", {"data": {"k": "v"}})
    with pytest.raises(StatusError) as error:
        maps.apply("two", {"data": {"k": "w"}})
    assert error.value.code == 409
    assert error.value.message == 'Apply failed with 1 conflict: conflict with "one": .data.k'
    assert error.value.causes == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.k"}
    ]


def test_apply_lists_all_conflicts_by_owner(maps):
    maps.apply("one", {"data": {"k": "v", "l": "v"}})
    maps.apply("two", {"data": {"l": "v"}})
    maps.update("scaler", {"data": {"k": "v", "l": "v", "m": "v"}})
    with pytest.raises(StatusError) as error:
        maps.apply("three", {"data": {"k": "1", "l": "1", "m": "1"}})
    assert error.value.message == (
        'Apply failed with 4 conflicts: conflicts with "one":\n- .data.k\n- .data.l\n'
        'conflicts with "scaler" using v1:\n- .data.m\nconflicts with "two":\n- .data.l'
    )
    assert len(error.value.causes) == 4


def test_apply_with_force_takes_ownership(maps):
    maps.apply("one", {"data": {"k": "v", "l": "v"}})
    maps.apply("two", {"data": {"k": "w"}}, force=True)
    assert maps.live["data"] == {"k": "w", "l": "v"}
    assert maps.fields() == {"one": {"f:data": {"f:l": {}}}, "two": {"f:data": {"f:k": {}}}}


def test_apply_conflicts_on_an_atomic_field_as_a_whole(widgets):
    widgets.apply("one", {"spec": {"args": ["a"], "selector": {"a": "b"}}})
    with pytest.raises(StatusError) as error:
        widgets.apply("two", {"spec": {"args": ["b"], "selector": {"a": "b", "c": "d"}}})
    assert [cause["field"] for cause in error.value.causes] == [".spec.args", ".spec.selector"]


def test_apply_may_omit_fields_that_an_update_took_over(maps):
    maps.apply("one", {"data": {"k": "v", "l": "v"}})
    maps.update("two", {"data": {"k": "v", "l": "w"}})
    maps.apply("one", {"data": {"k": "v"}})
    assert maps.live["data"] == {"k": "v", "l": "w"}
    assert maps.fields() == {"one": {"f:data": {"f:k": {}}}, "two": {"f:data": {"f:l": {}}}}


def test_apply_lets_managers_own_items_of_one_list(widgets):
    widgets.apply("one", {"spec": {"ports": [{"port": 53, "name": "a"}]}})
    widgets.apply("two", {"spec": {"ports": [{"port": 53, "protocol": "UDP"}]}})
    widgets.apply("one", {"spec": {"ports": [{"port": 54, "name": "a"}]}})
    assert widgets.live["spec"]["ports"] == [{"port": 53, "protocol": "UDP"}, {"port": 54, "name": "a"}]


def test_apply_removes_unowned_fields_only_with_their_item(widgets):
    widgets.apply("one", {"spec": {"parts": [{"name": "a", "size": 1}], "enabled": True}})
    widgets.live["spec"]["parts"][0]["tags"] = ["added by admission"]
    widgets.live["spec"]["replicas"] = 3
    widgets.apply("one", {"spec": {"parts": [{"name": "a"}], "enabled": True}})
    assert widgets.live["spec"]["parts"] == [{"name": "a", "tags": ["added by admission"]}]
    widgets.apply("one", {"spec": {"enabled": True}})
    assert widgets.live["spec"] == {"enabled": True, "replicas": 3}


def test_apply_keeps_the_part_of_an_item_that_another_manager_owns(widgets):
    widgets.apply("one", {"spec": {"parts": [{"name": "a", "size": 1, "tags": ["x"]}]}})
    widgets.apply("two", {"spec": {"parts": [{"name": "a", "tags": ["y"]}]}})
    widgets.apply("one", {"spec": {}})
    assert widgets.live["spec"]["parts"] == [{"name": "a", "tags": ["y"]}]


def test_apply_owns_an_empty_map_itself(maps):
    maps.apply("one", {"data": {}})
    assert maps.fields() == {"one": {"f:data": {}}}


def test_apply_of_an_emptied_map_keeps_it(maps):
    maps.apply("m", {"data": {"a": "1"}})
    assert maps.apply("m", {"data": {}})["data"] == {}
    assert maps.fields() == {"m": {"f:data": {}}}


def test_apply_of_only_an_empty_associative_list_owns_nothing(widgets):
    widgets.apply("one", {"spec": {"tags": ["a"]}})
    widgets.apply("two", {"spec": {"tags": [], "parts": []}})
    assert widgets.fields() == {"one": {"f:spec": {"f:tags": {'v:"a"': {}}}}}


def test_apply_owns_a_null_without_deleting_fields_of_others(maps):
    maps.apply("one", {"data": {"k": "v"}})
    maps.apply("two", {"data": None})
    assert maps.live["data"] == {"k": "v"}
    assert maps.fields()["two"] == {"f:data": {}}
    with pytest.raises(StatusError):
        maps.apply("two", {"data": {"k": None}})


def test_apply_assigns_existing_fields_to_before_first_apply(maps):
    maps.live = maps.config({"data": {"k": "v"}}, uid="u")
    maps.apply("one", {"data": {"l": "v"}})
    assert maps.owners() == {
        "before-first-apply": ({"f:data": {".": {}, "f:k": {}}}, T1),
        "one": ({"f:data": {"f:l": {}}}, T1),
    }
    maps.live = maps.config({"data": {"k": "v"}}, uid="u")
    with pytest.raises(StatusError) as error:
        maps.apply("one", {"data": {"k": "w"}})
    assert error.value.message == 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k'


def test_apply_ignores_reset_fields(widgets):
    reset = (("status",),)
    widgets.apply("one", {"spec": {"replicas": 1}, "status": {"replicas": 1}}, reset_fields=reset)
    widgets.apply("two", {"status": {"replicas": 2}}, reset_fields=reset)
    assert widgets.fields() == {"one": {"f:spec": {"f:replicas": {}}}}


def test_apply_has_separate_entries_for_a_subresource(widgets):
    widgets.apply("one", {"spec": {"replicas": 1}})
    widgets.apply("one", {"status": {"replicas": 1}}, subresource="status", reset_fields=(("spec",),))
    assert [(entry["manager"], entry.get("subresource")) for entry in widgets.live["metadata"]["managedFields"]] == [
        ("one", None),
        ("one", "status"),
    ]


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"kind": "ConfigMap"}, "invalid object type: /, Kind=ConfigMap"),
        ({"apiVersion": "v1"}, "invalid object type: /v1, Kind="),
        ({}, "invalid object type: /, Kind="),
        ({"apiVersion": "v1", "kind": "Secret"}, "invalid object type: /v1, Kind=Secret"),
        ({"apiVersion": "a/b/c", "kind": "ConfigMap"}, "invalid object type: /, Kind="),
        ({"apiVersion": "e.com/v1", "kind": "ConfigMap"}, "invalid object type: e.com/v1, Kind=ConfigMap"),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": []}},
            "metadata.managedFields must be nil",
        ),
    ],
)
def test_apply_rejects_another_kind_and_managed_fields(config_map, config, text):
    with pytest.raises(StatusError) as error:
        apply(
            None,
            config,
            struct=config_map,
            kind="ConfigMap",
            manager="m",
            force=False,
            api_version="v1",
            time=T1,
            defaulter=without_nulls,
        )
    assert (error.value.code, error.value.message) == (400, text)


def test_apply_of_a_mistyped_config_is_a_plain_500(maps):
    with pytest.raises(StatusError) as error:
        maps.apply("one", {"dat": {}}, metadata={"namespace": "ns"})
    assert (error.value.code, error.value.reason) == (500, "")
    assert error.value.message == (
        "failed to create typed patch object (ns/a; /v1, Kind=ConfigMap): .dat: field not declared in schema"
    )


def test_apply_does_not_mutate_or_share_its_arguments(widgets):
    widgets.apply("one", {"spec": {"parts": [{"name": "a", "tags": ["x"]}], "limits": {"a": "1"}}})
    live = widgets.live
    for spec in ({"parts": [{"name": "a"}]}, {"parts": [{"name": "a", "tags": ["x"]}], "limits": {"a": "1"}}):
        before = copy.deepcopy(live)
        widgets.live = live
        result = widgets.apply("one", {"spec": spec})
        result["spec"]["parts"][0]["name"] = "changed"
        assert live == before


def test_apply_distinguishes_true_from_one(widgets):
    widgets.apply("one", {"spec": {"anything": {"a": 1}}})
    widgets.apply("one", {"spec": {"anything": {"a": True}}}, time=T2)
    assert widgets.live["spec"]["anything"]["a"] is True
    assert widgets.owners()["one"][1] == T2


def test_apply_accepts_duplicate_live_items(widgets):
    widgets.live = widgets.config({"spec": {"parts": [{"name": "a"}, {"name": "a"}]}}, uid="u")
    widgets.apply("one", {"spec": {"parts": [{"name": "b"}]}})
    assert [part["name"] for part in widgets.live["spec"]["parts"]] == ["a", "a", "b"]


CSA = "kubectl-client-side-apply"


def with_annotation(data):
    text = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
    return {"annotations": {ANNOTATION: text}}


def test_apply_by_kubectl_takes_over_its_client_side_fields(maps):
    maps.update(CSA, {"data": {"k": "v"}}, **with_annotation({"k": "v"}))
    maps.apply("kubectl", {"data": {"k": "w"}})
    assert maps.live["data"] == {"k": "w"}
    assert maps.fields()["kubectl"] == {"f:data": {"f:k": {}}}
    assert maps.live["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"v1","data":{"k":"w"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
    )


def test_apply_by_kubectl_conflicts_when_the_value_has_changed(maps):
    maps.update(CSA, {"data": {"k": "v", "l": "v"}}, **with_annotation({"k": "v", "l": "v"}))
    maps.update("other", {"data": {"k": "v", "l": "z"}}, **with_annotation({"k": "v", "l": "v"}))
    with pytest.raises(StatusError) as error:
        maps.apply("kubectl", {"data": {"k": "w", "l": "w"}})
    assert error.value.message == 'Apply failed with 1 conflict: conflict with "other" using v1: .data.l'


@pytest.mark.parametrize("annotation", ["", "{", "[]", '{"apiVersion":"v2"}', '{"apiVersion":"v1","data":[]}'])
def test_apply_by_kubectl_conflicts_with_an_empty_annotation(maps, annotation):
    maps.update(CSA, {"data": {"k": "v"}}, annotations={ANNOTATION: annotation})
    with pytest.raises(StatusError):
        maps.apply("kubectl", {"data": {"k": "w"}})


def test_apply_by_other_managers_keeps_the_annotation(maps):
    maps.update(CSA, {"data": {"k": "v"}}, **with_annotation({"k": "v"}))
    before = maps.live["metadata"]["annotations"]
    maps.apply("one", {"data": {"l": "v"}})
    assert maps.live["metadata"]["annotations"] == before


def test_apply_excludes_the_annotation_from_itself(maps):
    maps.update(CSA, {"data": {"k": "v"}}, **with_annotation({"k": "v"}))
    maps.apply("kubectl", {"data": {"k": "v"}}, metadata={"annotations": {ANNOTATION: "x", "y": "z"}}, force=True)
    assert json.loads(maps.live["metadata"]["annotations"][ANNOTATION])["metadata"]["annotations"] == {"y": "z"}


def test_apply_drops_an_oversized_annotation(maps):
    maps.update(CSA, {"data": {"k": "v"}}, **with_annotation({"k": "v"}))
    maps.apply("kubectl", {"data": {"k": "w" * 300_000}})
    assert ANNOTATION not in maps.live["metadata"]["annotations"]


class Renamed:
    """Second version of config maps, in which the data key ``k`` is ``K``."""

    def __init__(self, struct) -> None:
        self.of_all = struct

    def struct(self, api_version):
        if api_version not in ("v1", "v2"):
            raise UnknownVersionError(api_version)
        return self.of_all

    def convert(self, tree, api_version):
        names = {"k": "K"} if api_version == "v2" else {"K": "k"}
        data = tree.get("data")
        data = data and {names.get(key, key): value for key, value in data.items()}
        return {**tree, "apiVersion": api_version, "data": data}


def test_apply_detects_conflicts_across_versions(maps, config_map):
    maps.apply("one", {"data": {"K": "v"}})
    entry = maps.live["metadata"]["managedFields"][0]
    maps.live = maps.config({"data": {"k": "v"}}, uid="u", managedFields=[{**entry, "apiVersion": "v2"}])
    with pytest.raises(StatusError) as error:
        maps.apply("two", {"data": {"k": "w"}}, versions=Renamed(config_map))
    assert error.value.causes[0]["field"] == ".data.K"


def test_apply_in_another_version_replaces_the_entry_and_prunes(maps, config_map):
    maps.apply("one", {"data": {"K": "v", "l": "v"}})
    entry = maps.live["metadata"]["managedFields"][0]
    maps.live = maps.config({"data": {"k": "v", "l": "v"}}, uid="u", managedFields=[{**entry, "apiVersion": "v2"}])
    maps.apply("one", {"data": {"l": "v"}}, versions=Renamed(config_map))
    assert maps.live["data"] == {"l": "v"}
    assert [entry["apiVersion"] for entry in maps.live["metadata"]["managedFields"]] == ["v1"]


def test_apply_keeps_fields_of_a_version_that_is_not_served(maps, config_map):
    maps.apply("one", {"data": {"k": "v", "l": "v"}})
    entry = maps.live["metadata"]["managedFields"][0]
    maps.live["metadata"]["managedFields"] = [{**entry, "apiVersion": "v0"}]
    maps.apply("one", {"data": {"l": "v"}}, versions=Renamed(config_map))
    assert maps.live["data"] == {"k": "v", "l": "v"}


# Without empty objects and lists that are not owned: decoding drops those that an apply has emptied.
NAMES = st.sampled_from(["a", "b", "c"])
PARTS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES}, optional={"size": st.integers(0, 2), "tags": st.lists(NAMES, max_size=2, unique=True)}
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda part: part["name"],
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 2),
        "limits": st.dictionaries(NAMES, NAMES, max_size=3),
        "args": st.lists(NAMES, max_size=2),
        "tags": st.lists(NAMES, min_size=1, max_size=3, unique=True),
        "parts": PARTS,
        "nested": st.dictionaries(NAMES, st.fixed_dictionaries({"size": st.integers(0, 2)}), max_size=2),
        "extra": st.dictionaries(
            NAMES, st.one_of(st.integers(0, 1), st.booleans(), st.dictionaries(NAMES, NAMES, min_size=1))
        ),
    },
)


@settings(max_examples=60)
@given(SPECS, SPECS)
def test_apply_is_idempotent(widget, first, second):
    cluster = Cluster(widget, "Widget", "e/v1")
    cluster.apply("one", {"spec": first})
    cluster.apply("two", {"spec": second}, force=True)
    before = copy.deepcopy(cluster.live)
    assert cluster.apply("two", {"spec": second}, time=T2) == before


@settings(max_examples=60)
@given(SPECS, SPECS)
def test_apply_by_a_single_manager_results_in_its_last_config(widget, first, second):
    cluster = Cluster(widget, "Widget", "e/v1")
    cluster.apply("one", {"spec": first})
    cluster.apply("one", {"spec": second})
    fresh = Cluster(widget, "Widget", "e/v1")
    fresh.apply("one", {"spec": second})
    assert cluster.fields() == fresh.fields()
    assert named(widget, cluster.live) == named(widget, fresh.live)


def named(widget, obj):
    """Return the leaves of an object, without empty containers around them."""
    spec = {name: value for name, value in obj.get("spec", {}).items() if value not in ({}, [])}
    return leaves(root_shape(widget).below({"spec": spec}))


@settings(max_examples=60)
@given(SPECS, SPECS)
def test_apply_of_an_empty_config_removes_solely_owned_fields(widget, first, second):
    cluster = Cluster(widget, "Widget", "e/v1")
    cluster.apply("one", {"spec": first})
    alone = copy.deepcopy(cluster.live["spec"])
    cluster.apply("two", {"spec": second}, force=True)
    cluster.apply("two", {})
    assert "two" not in cluster.fields()
    for name in set(first) - set(second):
        assert cluster.live["spec"][name] == alone[name]
