"""Validation of ReplicaSets. Upstream: ``ValidateReplicaSet``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.shared.counts import ABOVE_REPLICAS, check_none_above, check_none_negative
from steersman.apiserver.kinds.shared.template_selectors import (
    check_selector,
    check_selector_unchanged,
    validate_replicated_template,
)
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_SPEC: Final = field.Path("spec")
_STATUS: Final = field.Path("status")


def validate_replica_set(obj: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate a ReplicaSet."""
    spec = obj["spec"]
    yield from check_none_negative(spec, ("replicas", "minReadySeconds"), _SPEC)
    # upstream's text names Deployments here
    yield from check_selector(spec, _SPEC, empty_detail="empty selector is invalid for deployment")
    yield from validate_replicated_template(spec, _SPEC, facts_for=facts_for)


def validate_replica_set_update(obj: Tree, old: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate an update of a ReplicaSet."""
    yield from validate_replica_set(obj, facts_for=facts_for)
    yield from check_selector_unchanged(obj, old)


def validate_replica_set_status(obj: Tree) -> Iterator[FieldError]:
    """Validate the status: counters."""
    status = obj.get("status") or {}
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from check_none_negative(status, ("replicas", *parts, "terminatingReplicas", "observedGeneration"), _STATUS)
    yield from check_none_above(status, parts, _STATUS, limit="replicas", detail=ABOVE_REPLICAS)
    yield from check_none_above(
        status, ("availableReplicas",), _STATUS, limit="readyReplicas", detail="cannot be greater than readyReplicas"
    )
