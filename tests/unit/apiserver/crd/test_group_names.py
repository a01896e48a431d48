"""Accepted names by group, as a follower of a watch cache."""

import json

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.crd.group_names import GroupNames
from steersman.apiserver.generic.entry import Entry

PREFIX = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
DEFINITIONS = ["a.example.com", "b.example.com", "c.example.com", "d.other.example.com"]
RESOURCES = ["x", "y", "z"]
KINDS = ["X", "Y"]


def entry(name: str, names: dict | None, revision: int = 1) -> Entry:
    status = {} if names is None else {"status": {"acceptedNames": names}}
    return Entry(f"{PREFIX}{name}", json.dumps({"metadata": {"name": name}, "spec": {}, **status}).encode(), revision)


NAMES = st.none() | st.fixed_dictionaries(
    {"plural": st.sampled_from(RESOURCES), "kind": st.sampled_from(KINDS)},
    optional={
        "singular": st.sampled_from(RESOURCES),
        "shortNames": st.lists(st.sampled_from(RESOURCES), max_size=2),
        "listKind": st.sampled_from(KINDS),
    },
)
#: Definition, and its names; False: it is removed.
CHANGES = st.lists(st.tuples(st.sampled_from(DEFINITIONS), NAMES | st.just(False)), max_size=12)


@given(CHANGES, CHANGES)
def test_others_are_the_names_of_the_groups_other_definitions(first, then):
    names, definitions = GroupNames(), {}
    for changes in (first, then):  # names are decoded in between
        for name, accepted in changes:
            if accepted is False:
                definitions.pop(name, None)
                names.remove(f"{PREFIX}{name}")
            else:
                definitions[name] = accepted or {}
                names.put(entry(name, accepted))
        for name in DEFINITIONS:
            others = [
                other
                for definition, other in definitions.items()
                if definition != name and definition.partition(".")[2] == name.partition(".")[2]
            ]
            resources = {
                resource
                for other in others
                for resource in (other.get("plural"), other.get("singular"), *other.get("shortNames", ()))
            }
            kinds = {kind for other in others for kind in (other.get("kind"), other.get("listKind"))}
            answer = names.others(name)
            assert [answer.has_resource(resource) for resource in RESOURCES] == [r in resources for r in RESOURCES]
            assert [answer.has_kind(kind) for kind in KINDS] == [kind in kinds for kind in KINDS]


def test_reset_replaces_all():
    names = GroupNames()
    names.reset([entry("b.example.com", {"plural": "x", "kind": "X"})])
    assert names.others("a.example.com").has_kind("X")
    names.reset([entry("c.example.com", {"plural": "y", "kind": "Y"})])
    others = names.others("a.example.com")
    assert (others.has_kind("X"), others.has_kind("Y"), others.has_resource("y")) == (False, True, True)


def test_definition_that_cannot_be_read_has_no_names():
    names = GroupNames()
    names.reset([Entry(f"{PREFIX}b.example.com", b"{", 1), entry("c.example.com", {"plural": "x", "kind": "X"})])
    assert names.others("a.example.com").has_kind("X")
