"""ReplicaSet specifics: selectors, siblings, terminating Pods."""

from __future__ import annotations

import msgspec
from lightkube.models.apps_v1 import ReplicaSet, ReplicaSetSpec
from lightkube.models.meta_v1 import LabelSelector, LabelSelectorRequirement

from steersman.controllers.replication.plan import Counts, Status
from steersman.controllers.replication.replicaset import ReplicaSetController as Kind


def test_selectors_may_have_expressions():
    expression = LabelSelectorRequirement(key="tier", operator="In", values=["a", "b"])
    spec = ReplicaSetSpec(selector=LabelSelector(matchLabels={"app": "x"}, matchExpressions=[expression]))
    selector = Kind.selector_of(None, ReplicaSet(spec=spec))
    assert selector.matches({"app": "x", "tier": "b"})
    assert not selector.matches({"app": "x", "tier": "c"})


def test_zeros_are_left_out_but_not_of_pods_on_their_way_out():
    struct = Kind.status_struct(None, Status(Counts(0, 0, 0, 0, 0), 1))
    assert msgspec.to_builtins(struct) == {"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 1}


def test_replicaset_status_is_read_as_written():
    status = Status(Counts(4, 3, 2, 1, 5), 7)
    assert Kind.status_of(None, ReplicaSet(status=Kind.status_struct(None, status))) == status
    assert Kind.status_of(None, ReplicaSet()) == Status(Counts(0, 0, 0, 0, None), 0)
