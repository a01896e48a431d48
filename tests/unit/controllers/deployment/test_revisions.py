"""Revision annotations of ReplicaSets."""

from __future__ import annotations

import pytest
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec, ResourceRequirements
from lightkube.models.meta_v1 import ObjectMeta
from tests.unit.controllers.deployment.conftest import template

from steersman.controllers.deployment import revisions
from steersman.controllers.deployment.revisions import REVISION, REVISION_HISTORY


def test_revision_annotations_record_new_and_old_revisions(rs):
    created = revisions.as_newest(rs(revision=2), {}, 5)
    assert (created.metadata.annotations[REVISION], created.metadata.annotations[REVISION_HISTORY]) == ("5", "2")
    again = revisions.as_newest(created, {}, 7)
    assert again.metadata.annotations[REVISION_HISTORY] == "2,5"


def test_revision_never_decreases(rs):
    present = rs(revision=5)
    assert revisions.as_newest(present, {}, 3) is present


def test_first_revision_has_no_history(rs):
    assert REVISION_HISTORY not in revisions.as_newest(rs(revision=None), {}, 1).metadata.annotations


def test_malformed_revision_annotations_are_kept(rs):
    present = rs(revision="x")
    assert revisions.as_newest(present, {}, 3) is present
    assert revisions.as_newest(present, {"a": "b"}, 3) is present


def test_revision_history_is_bounded(rs):
    long = ",".join(str(number) for number in range(1, 600))[: revisions.HISTORY_CHARS_MAX]
    created = revisions.as_newest(rs(revision=700, annotations={REVISION_HISTORY: long}), {}, 701)
    history = created.metadata.annotations[REVISION_HISTORY]
    assert len(history) <= revisions.HISTORY_CHARS_MAX
    assert history.endswith(",700")
    assert not history.startswith("1,")


def test_annotations_of_the_deployment_are_taken_over_but_not_its_own_ones(rs):
    value = {"a": "b", REVISION: "9", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    annotations = revisions.as_newest(rs(revision=1), value, 1).metadata.annotations
    assert (annotations["a"], annotations[REVISION]) == ("b", "1")
    assert "kubectl.kubernetes.io/last-applied-configuration" not in annotations


def test_sizes_are_noted_once(rs):
    noted = revisions.with_replica_annotations(rs(desired=None, most=None), desired=3, most=4)
    assert (revisions.desired_annotation(noted), revisions.max_annotation(noted)) == (3, 4)
    assert revisions.with_replica_annotations(noted, desired=3, most=4) is noted


@pytest.mark.parametrize(
    ("text", "revision"), [("7", 7), ("-1", -1), ("+2", 2), ("", 0), ("x", 0), ("1.0", 0), (None, 0)]
)
def test_revisions_are_parsed_as_by_go(rs, text, revision):
    assert revisions.revision_of(rs(revision=text)) == revision


def test_sets_are_ordered_by_revision_then_age(rs):
    young, old, first = rs(revision=2, age=1), rs(revision=2, age=9), rs(revision=1, age=5)
    assert revisions.by_revision([young, old, first]) == [first, old, young]


def with_limit(text, **labels):
    container = Container(name="c", resources=ResourceRequirements(limits={"cpu": text}), args=[])
    return PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[container], nodeSelector={}))


def test_equal_templates_ignore_the_hash_label():
    assert revisions.same_template(template(), template(**{"pod-template-hash": "x"}))


def test_quantities_compare_by_value_and_labels_as_texts():
    assert revisions.same_template(with_limit("1"), with_limit("1000m"))
    assert not revisions.same_template(with_limit("1"), with_limit("2"))
    assert not revisions.same_template(with_limit("1", a="1"), with_limit("1", a="1000m"))
    assert not revisions.same_template(with_limit("1"), with_limit("nonsense"))


def test_empty_and_absent_are_alike():
    plain = with_limit("1")
    plain.spec.nodeSelector = plain.spec.containers[0].args = None
    assert revisions.same_template(with_limit("1"), plain)


def test_another_template_is_another():
    assert not revisions.same_template(template("1"), template("2"))


def test_find_new_set_returns_the_oldest_match(rs):
    young, old, other = rs(age=1), rs(age=9), rs(version="0")
    assert revisions.find_new([young, other, old], template()) is old
    assert revisions.find_new([other], template()) is None
