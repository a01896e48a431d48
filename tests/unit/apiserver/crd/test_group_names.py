"""Accepted names by group, as a follower of a watch cache."""

import json

from steersman.apiserver.crd.group_names import GroupNames
from steersman.apiserver.generic.entry import Entry

PREFIX = "/registry/apiextensions.k8s.io/customresourcedefinitions/"


def entry(name: str, kind: str | None, revision: int = 1) -> Entry:
    status = {} if kind is None else {"status": {"acceptedNames": {"kind": kind}}}
    return Entry(f"{PREFIX}{name}", json.dumps({"metadata": {"name": name}, "spec": {}, **status}).encode(), revision)


def test_others_yields_the_names_of_the_same_group():
    names = GroupNames()
    names.reset([entry("a.example.com", "A"), entry("b.example.com", "B"), entry("c.other.example.com", "C")])
    names.put(entry("d.example.com", None))
    assert list(names.others("a.example.com")) == [{"kind": "B"}, {}]
    assert list(names.others("new.other.example.com")) == [{"kind": "C"}]


def test_others_yields_current_names_after_changes():
    names = GroupNames()
    names.reset([entry("b.example.com", "B")])
    assert list(names.others("a.example.com")) == [{"kind": "B"}]
    names.put(entry("b.example.com", "B2", 2))
    assert list(names.others("a.example.com")) == [{"kind": "B2"}]
    names.remove(f"{PREFIX}b.example.com")
    assert list(names.others("a.example.com")) == []
