from __future__ import annotations

from steersman.apiserver.admission.defaulting import Candidate, newest_default


def candidate(name, created, **annotations):
    tree = {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}
    return Candidate.of(tree, "old", "new")


def test_newest_default_is_chosen_then_first_by_name():
    candidates = [
        candidate("c", "2026-01-01T00:00:01Z", old="true"),
        candidate("b", "2026-01-01T00:00:02Z", new="true"),
        candidate("a", "2026-01-01T00:00:02Z", new="true"),
        candidate("0", "2026-01-01T00:00:03Z", new="false"),
    ]
    assert newest_default(candidates) == "a"


def test_no_default_without_candidates():
    assert newest_default([candidate("a", "2026-01-01T00:00:01Z")]) is None
