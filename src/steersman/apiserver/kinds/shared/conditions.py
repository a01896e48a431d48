"""Validation of ``metav1.Condition`` lists. Upstream: ``ValidateConditions``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.validation import check_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

STATUSES: Final = ("False", "True", "Unknown")
_REASON_MAX_BYTES: Final = 1024
_MESSAGE_MAX_BYTES: Final = 32 * 1024
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_matches_reason: Final = re.compile(_REASON).fullmatch
_REASON_FAULT: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    f"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)


def has_condition(status: Tree | None, type_: str) -> bool:
    """Report whether the status has the condition with status ``True``."""
    conditions = (status or {}).get("conditions") or ()
    return any(c.get("type") == type_ and c.get("status") == "True" for c in conditions)


def true_conditions(status: Tree) -> set[str]:
    """Return the types of the conditions with status ``True``."""
    return {c.get("type", "") for c in status.get("conditions") or () if c.get("status") == "True"}


def validate_conditions(conditions: Sequence[Tree] | None, path: Path) -> Iterator[FieldError]:
    """Validate a list of conditions with unique types."""
    seen: set[str] = set()
    for position, condition in enumerate(conditions or ()):
        item_path = path.index(position)
        type_ = condition.get("type") or ""
        if type_ in seen:
            yield field.duplicate(item_path.child("type"), type_)
        seen.add(type_)
        yield from _validate_condition(condition, item_path)


def _validate_condition(condition: Tree, path: Path) -> Iterator[FieldError]:
    type_, status = condition.get("type") or "", condition.get("status") or ""
    yield from check_all(path.child("type"), type_, names.check_qualified_name(type_))
    if status not in STATUSES:
        yield field.not_supported(path.child("status"), status, STATUSES)
    observed = condition.get("observedGeneration") or 0
    if observed < 0:
        yield field.invalid(path.child("observedGeneration"), observed, "must be greater than or equal to zero")
    if not condition.get("lastTransitionTime"):
        yield field.required(path.child("lastTransitionTime"), "must be set")
    reason = condition.get("reason") or ""
    if not reason:
        yield field.required(path.child("reason"), "must be set")
    else:
        if not _matches_reason(reason):
            yield field.invalid(path.child("reason"), reason, _REASON_FAULT)
        if len(reason.encode()) > _REASON_MAX_BYTES:
            yield field.too_long(path.child("reason"), max_bytes=_REASON_MAX_BYTES)
    if len((condition.get("message") or "").encode()) > _MESSAGE_MAX_BYTES:
        yield field.too_long(path.child("message"), max_bytes=_MESSAGE_MAX_BYTES)
