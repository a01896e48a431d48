"""Revision annotations of ReplicaSets, and the ReplicaSet of the current template. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.quantity import parse as parse_quantity
from steersman.client.objects import annotations_of, labels_of
from steersman.runtime.structs import replaced, with_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from lightkube.models.apps_v1 import Deployment, ReplicaSet
    from lightkube.models.core_v1 import PodTemplateSpec

HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"

#: Annotations of a Deployment that are not copied to its ReplicaSets.
DEPLOYMENT_ONLY: Final = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS,
     ROLLBACK_TO}
)  # fmt: skip
#: Maximum characters of the list of earlier revisions; the oldest are dropped beyond it.
HISTORY_CHARS_MAX: Final = 2000


def number_of(annotations: Mapping[str, str], name: str) -> int | None:
    """Parse an integer annotation as Go's ``ParseInt``; None if invalid."""
    text = annotations.get(name, "")
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdigit() else None


def revision_of(obj: Any) -> int:
    """Return the revision of a Deployment or ReplicaSet; 0 without one."""
    return number_of(annotations_of(obj), REVISION) or 0


def revision_text(obj: Any) -> str:
    """Return the revision annotation of a Deployment or ReplicaSet as it is; empty without one."""
    return annotations_of(obj).get(REVISION, "")


def rollback_revision(deployment: Deployment) -> int | None:
    """Return the revision of the requested rollback, 0 for the last one; None without a valid request."""
    return number_of(annotations_of(deployment), ROLLBACK_TO)


def desired_annotation(rs: ReplicaSet) -> int | None:
    """Return the Deployment's replicas when the ReplicaSet was last scaled."""
    return number_of(annotations_of(rs), DESIRED_REPLICAS)


def max_annotation(rs: ReplicaSet) -> int | None:
    """Return the Deployment's replicas plus surge when the ReplicaSet was last scaled."""
    return number_of(annotations_of(rs), MAX_REPLICAS)


def created(rs: ReplicaSet) -> tuple[datetime | None, str]:
    """Return the sort key of creation order; ties within a second are broken by name."""
    metadata = rs.metadata
    return (metadata.creationTimestamp if metadata else None, (metadata.name if metadata else None) or "")


def by_age(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Return the ReplicaSets by age, oldest first; without creation time first."""
    return sorted(sets, key=lambda rs: (created(rs)[0] is not None, created(rs)))


def by_revision(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Return the ReplicaSets by revision, then age."""
    return sorted(by_age(sets), key=revision_of)


def with_replica_annotations(rs: ReplicaSet, *, desired: int, most: int) -> ReplicaSet:
    """Return the ReplicaSet with the desired and maximum replicas annotations; itself if up to date."""
    annotations = {DESIRED_REPLICAS: str(desired), MAX_REPLICAS: str(most)}
    if annotations.items() <= annotations_of(rs).items():
        return rs
    return with_metadata(rs, annotations=annotations_of(rs) | annotations)


def as_newest(rs: ReplicaSet, deployment_annotations: Mapping[str, str], revision: int) -> ReplicaSet:
    """Return the ReplicaSet with the Deployment's annotations and at least ``revision``; itself if up to date.

    A ReplicaSet with a lower revision is the target of a rollback: its earlier revisions go to the history annotation.
    One with a revision that is no number is not changed. Upstream: ``SetNewReplicaSetAnnotations``.
    """
    annotations = dict(annotations_of(rs))
    annotations |= {key: value for key, value in deployment_annotations.items() if key not in DEPLOYMENT_ONLY}
    previous = annotations.get(REVISION, "")
    before = number_of(annotations, REVISION)
    if previous and before is None:
        return rs
    if (before or 0) < revision:
        annotations[REVISION] = str(revision)
        if previous:
            _append_history(annotations, previous)
    return _with_annotations(rs, annotations)


def _with_annotations(rs: ReplicaSet, annotations: dict[str, str]) -> ReplicaSet:
    return rs if annotations == annotations_of(rs) else with_metadata(rs, annotations=annotations)


def _append_history(annotations: dict[str, str], revision: str) -> None:
    earlier = [word for word in annotations.get(REVISION_HISTORY, "").split(",") if word]
    earlier.append(revision)
    while len(",".join(earlier)) > HISTORY_CHARS_MAX and len(earlier) > 1:
        earlier.pop(0)
    annotations[REVISION_HISTORY] = ",".join(earlier)


# Templates


def without_hash(template: PodTemplateSpec) -> PodTemplateSpec:
    """Return the template without the label ``pod-template-hash``."""
    labels = labels_of(template)
    if HASH_LABEL not in labels:
        return template
    return with_metadata(template, labels={key: value for key, value in labels.items() if key != HASH_LABEL} or None)


def same_template(one: PodTemplateSpec, other: PodTemplateSpec) -> bool:
    """Report whether both templates are semantically equal: empty equals absent, quantities compare by value."""
    one, other = without_hash(one), without_hash(other)
    return _same(one, other)


#: Fields of quantities or maps of quantities.
_QUANTITIES: Final = frozenset({"limits", "requests", "overhead", "sizeLimit", "divisor", "storage"})


def _same(one: Any, other: Any, *, quantities: bool = False) -> bool:
    if bool(one == other):
        return True
    match one, other:
        case msgspec.Struct(), msgspec.Struct() if type(one) is type(other):
            return all(
                _same(getattr(one, name), getattr(other, name), quantities=name in _QUANTITIES)
                for name in one.__struct_fields__
            )
        case ((list() | dict() | None), (list() | dict() | None)) if not one and not other:
            return True
        case list(), list():
            return len(one) == len(other) and all(map(_same, one, other))
        case dict(), dict():
            return one.keys() == other.keys() and all(_same(one[key], other[key], quantities=quantities) for key in one)
        case str(), str() if quantities:
            return bool(_amount(one) == _amount(other))
    return False


def _amount(text: str) -> Any:
    try:
        return parse_quantity(text)
    except ValueError:
        return text


def template_of(rs: ReplicaSet) -> PodTemplateSpec | None:
    """Return ``spec.template``."""
    return rs.spec.template if rs.spec else None


def find_new(sets: Iterable[ReplicaSet], template: PodTemplateSpec) -> ReplicaSet | None:
    """Return the oldest ReplicaSet with the Deployment's template, so that every call selects the same."""
    for rs in by_age(sets):
        own_template = template_of(rs)
        if own_template is not None and same_template(own_template, template):
            return rs
    return None


def with_size(rs: ReplicaSet, replicas: int) -> ReplicaSet:
    """Return the ReplicaSet with other ``spec.replicas``."""
    return replaced(rs, spec=replaced(rs.spec, replicas=replicas))
