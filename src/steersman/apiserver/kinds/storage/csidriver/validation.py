"""Validation of CSIDrivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.shared.validation import check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES: Final = ("Persistent", "Ephemeral")
_TOKEN_SECONDS_MIN: Final = 600
_TOKEN_SECONDS_MAX: Final = 1 << 32
_UPDATE_PERIOD_MIN_SECONDS: Final = 10
#: Flags that must be set after defaulting, with the names in upstream's messages.
_FLAGS: Final = {
    "attachRequired": "attachedRequired",
    "podInfoOnMount": "podInfoOnMount",
    "storageCapacity": "storageCapacity",
}


def validate_csi_driver(obj: Tree) -> Iterator[FieldError]:
    """Validate a new CSIDriver."""
    yield from _validate_spec(obj.get("spec") or {})


def validate_csi_driver_update(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate an update: ``attachRequired`` and ``volumeLifecycleModes`` are immutable."""
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    yield from _validate_spec(spec)
    for name, shown in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
        yield from check_unchanged(spec.get(name), before.get(name), _SPEC.child(shown))


def _validate_spec(spec: Tree) -> Iterator[FieldError]:
    for name, shown in _FLAGS.items():
        if spec.get(name) is None:
            yield field.required(_SPEC.child(shown))
    policy, fs_group_policy_path = spec.get("fsGroupPolicy"), _SPEC.child("fsGroupPolicy")
    if policy is not None and policy not in _GROUP_POLICIES:
        yield field.not_supported(fs_group_policy_path, policy, _GROUP_POLICIES)
    yield from _validate_tokens(spec.get("tokenRequests") or ())
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in _LIFECYCLE_MODES:
            yield field.not_supported(_SPEC.child("volumeLifecycleModes"), mode, _LIFECYCLE_MODES)
    if spec.get("seLinuxMount") is None:
        yield field.required(_SPEC.child("seLinuxMount"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _UPDATE_PERIOD_MIN_SECONDS:
        detail = f"must be greater than or equal to {_UPDATE_PERIOD_MIN_SECONDS} seconds"
        yield field.invalid(_SPEC.child("nodeAllocatableUpdatePeriodSeconds"), period, detail)
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield field.invalid(_SPEC.child("serviceAccountTokenInSecrets"), in_secrets, detail)


def _validate_tokens(requests: Sequence[Tree]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, request in enumerate(requests):
        item_path, audience = _SPEC.child("tokenRequests").index(position), request.get("audience") or ""
        if audience in seen:
            yield field.duplicate(item_path.child("audience"), audience)
            continue
        seen.add(audience)
        seconds, expiration_path = request.get("expirationSeconds"), item_path.child("expirationSeconds")
        if seconds is None:
            continue
        if seconds < _TOKEN_SECONDS_MIN:
            yield field.invalid(expiration_path, seconds, "may not specify a duration less than 10 minutes")
        if seconds > _TOKEN_SECONDS_MAX:
            yield field.invalid(expiration_path, seconds, "may not specify a duration larger than 2^32 seconds")
