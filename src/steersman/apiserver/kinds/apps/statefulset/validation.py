"""Validation of StatefulSets. Upstream: ``ValidateStatefulSet``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.counts import (
    ABOVE_REPLICAS,
    check_at_most_100_percent,
    check_int_or_percent,
    check_none_above,
    check_none_negative,
    check_not_decremented,
    is_zero,
)
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.validate import validate_pod_template, validate_template_metadata
from steersman.apiserver.kinds.shared.podspec.validate_claims import validate_claim_spec
from steersman.apiserver.kinds.shared.template_selectors import (
    check_always_restarts,
    check_labels_match,
    check_selector,
    parse_selector,
    shown,
)
from steersman.apiserver.kinds.shared.validation import check_all, check_not_negative
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_SPEC: Final = field.Path("spec")
_STATUS: Final = field.Path("status")
_MUTABLE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
#: Fields of Pods that the controller sets.
_IDENTITY: Final = ("hostname", "subdomain")
_IMMUTABLE_DETAIL: Final = (
    "updates to statefulset spec for fields other than "
    f"{', '.join(repr(name) for name in _MUTABLE[:-1])} and {_MUTABLE[-1]!r} are forbidden"
)


def validate_stateful_set(obj: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate a new StatefulSet."""
    spec = obj["spec"]
    yield from _validate_policies(spec, _SPEC)
    yield from _validate_claims(spec, _SPEC.child("volumeClaimTemplates"))
    yield from _validate_counts(spec, _SPEC)
    service = spec.get("serviceName")
    if service:
        yield from check_all(_SPEC.child("serviceName"), service, names.check_dns1123_label(service))
    yield from _validate_pods(spec, _SPEC, with_template=True, facts_for=facts_for)


def validate_stateful_set_update(obj: Tree, old: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate an update. Templates that were invalid already may stay unchanged."""
    spec, before = obj["spec"], old["spec"]
    yield from _validate_policies(spec, _SPEC)
    yield from _validate_counts(spec, _SPEC)
    was_valid = next(_validate_template(before, _SPEC.child("template"), facts_for=facts_for), None) is None
    yield from _validate_pods(spec, _SPEC, with_template=was_valid, facts_for=facts_for)
    if _immutable_part(spec) != _immutable_part(before):
        yield field.forbidden(_SPEC, _IMMUTABLE_DETAIL)


def validate_stateful_set_status(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate the status: counters."""
    status = obj.get("status") or {}
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    yield from check_none_negative(status, ("replicas", *parts, "observedGeneration", "collisionCount"), _STATUS)
    yield from check_none_above(status, parts, _STATUS, limit="replicas", detail=ABOVE_REPLICAS)
    detail = "cannot be greater than status.readyReplicas"
    yield from check_none_above(status, ("availableReplicas",), _STATUS, limit="readyReplicas", detail=detail)
    yield from check_not_decremented(status, old.get("status") or {}, "collisionCount", _STATUS)


def _immutable_part(spec: Tree) -> Tree:
    return {name: value for name, value in spec.items() if name not in _MUTABLE and value not in (None, [], "")}


def _validate_policies(spec: Tree, path: Path) -> Iterator[FieldError]:
    management = spec.get("podManagementPolicy")
    if not management:
        yield field.required(path.child("podManagementPolicy"))
    elif management not in ("OrderedReady", "Parallel"):
        yield field.invalid(path.child("podManagementPolicy"), management, "must be 'OrderedReady' or 'Parallel'")
    yield from _validate_strategy(spec.get("updateStrategy") or {}, path.child("updateStrategy"))
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for event in ("whenDeleted", "whenScaled"):
            if retention.get(event) not in ("Retain", "Delete"):
                field_path = path.child("persistentVolumeClaimRetentionPolicy", event)
                yield field.not_supported(field_path, retention.get(event) or "", ("Retain", "Delete"))


def _validate_counts(spec: Tree, path: Path) -> Iterator[FieldError]:
    yield from check_none_negative(spec, ("replicas", "minReadySeconds"), path)
    yield from check_not_negative((spec.get("ordinals") or {}).get("start"), path.child("ordinals.start"))


def _validate_strategy(strategy: Tree, path: Path) -> Iterator[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type") or "":
        case "":
            yield field.required(path)
        case "OnDelete":
            if rolling is not None:
                detail = "only allowed for updateStrategy 'RollingUpdate'"
                yield field.invalid(path.child("rollingUpdate"), go_form("RollingUpdateStatefulSet", rolling), detail)
        case "RollingUpdate":
            if rolling is not None:
                yield from _validate_rolling_update(rolling, path.child("rollingUpdate"))
        case _:
            shape = go_form("StatefulSetUpdateStrategy", strategy)
            yield field.invalid(path, shape, "must be 'RollingUpdate' or 'OnDelete'")


def _validate_rolling_update(rolling: Tree, path: Path) -> Iterator[FieldError]:
    yield from check_none_negative(rolling, ("partition",), path)
    unavailable = rolling.get("maxUnavailable")
    if unavailable is None:
        return
    max_unavailable_path = path.child("maxUnavailable")
    yield from check_int_or_percent(unavailable, max_unavailable_path)
    if is_zero(unavailable):
        yield field.invalid(max_unavailable_path, unavailable, "cannot be 0")
    yield from check_at_most_100_percent(unavailable, max_unavailable_path)


def _validate_claims(spec: Tree, path: Path) -> Iterator[FieldError]:
    for position, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        yield from validate_claim_spec(claim.get("spec") or {}, path.index(position).child("spec"))


def _validate_pods(
    spec: Tree, path: Path, *, with_template: bool, facts_for: FactsFor = new_facts
) -> Iterator[FieldError]:
    yield from check_selector(spec, path, empty_detail="empty selector is invalid for statefulset")
    template, template_path = spec.get("template") or {}, path.child("template")
    selector = parse_selector(spec.get("selector"))
    if selector is None:
        yield field.invalid(path.child("selector"), shown(spec.get("selector")), "")
    else:
        if not selector.is_empty:
            yield from check_labels_match(template, selector, template_path)
        if with_template:
            yield from _validate_template(spec, template_path, facts_for=facts_for)
        # upstream validates these again after the whole template, and reports them twice
        yield from validate_template_metadata(template, template_path)
    yield from check_always_restarts(template, template_path, kind="StatefulSet")


def _validate_template(spec: Tree, path: Path, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate the template of the Pods: with a volume for each claim template, instead of one of the same name.

    Hostname and subdomain are ignored, as the controller sets them.
    """
    template = spec.get("template") or {}
    pod = {name: value for name, value in (template.get("spec") or {}).items() if name not in _IDENTITY}
    claims = dict.fromkeys(
        (claim.get("metadata") or {}).get("name") or "" for claim in spec.get("volumeClaimTemplates") or ()
    )
    volumes: list[Tree] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    volumes += [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    yield from validate_pod_template({**template, "spec": {**pod, "volumes": volumes}}, path, facts_for=facts_for)
