"""Validation of PriorityLevelConfigurations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.flowcontrol.flowschema.validation import validate_flow_conditions
from steersman.apiserver.kinds.flowcontrol.shared.mandatory import EXEMPT, PRIORITY_LEVELS
from steersman.apiserver.kinds.shared.go_form import go_form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_QUEUES_MAX: Final = 10_000_000
#: Entropy bits available for shuffle sharding in a hash of 64 bits. Upstream: ``shufflesharding.MaxHashBits``.
_ENTROPY_BITS_MAX: Final = 60


def validate_priority_level(obj: Tree) -> Iterator[FieldError]:
    """Validate a PriorityLevelConfiguration."""
    name, spec = obj["metadata"].get("name") or "", obj.get("spec") or {}
    yield from _validate_spec(spec, name)
    yield from _check_fixed(spec, name)
    yield from validate_flow_conditions(obj)


def _check_fixed(spec: Tree, name: str) -> Iterator[FieldError]:
    fixed = PRIORITY_LEVELS.get(name)
    if fixed is None:
        return
    compared, exception = spec, ""
    if name == EXEMPT:
        compared, exception = {**spec, "exempt": fixed["exempt"]}, " except the 'spec.exempt' field"
    if compared != fixed:
        shown = go_form("PriorityLevelConfigurationSpec", spec)
        yield field.invalid(_SPEC, shown, f"spec of '{name}'{exception} must equal the fixed value")


def _validate_spec(spec: Tree, name: str) -> Iterator[FieldError]:
    type_, exempt, limited = spec.get("type") or "", spec.get("exempt"), spec.get("limited")
    if (name == EXEMPT) != (type_ == "Exempt"):
        detail = f"must be 'Exempt' if and only if `name` is '{EXEMPT}'"
        yield field.invalid(_SPEC.child("type"), type_, detail)
    if type_ == "Exempt":
        if limited is not None:
            yield field.forbidden(_SPEC.child("limited"), "must be nil if the type is not Limited")
        if exempt is not None:
            yield from _validate_shares(exempt, _SPEC.child("exempt"))
    elif type_ == "Limited":
        if exempt is not None:
            yield field.forbidden(_SPEC.child("exempt"), "must be nil if the type is Limited")
        if limited is None:
            yield field.required(_SPEC.child("limited"), "must not be empty when type is Limited")
        else:
            yield from _validate_limited(limited, _SPEC.child("limited"))
    else:
        yield field.not_supported(_SPEC.child("type"), type_, ("Exempt", "Limited"))


def _validate_shares(level: Tree, path: Path) -> Iterator[FieldError]:
    shares, lendable = level.get("nominalConcurrencyShares"), level.get("lendablePercent")
    if shares is not None and shares < 0:
        yield field.invalid(path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer")
    if lendable is not None and not 0 <= lendable <= 100:
        yield field.invalid(path.child("lendablePercent"), lendable, "must be between 0 and 100, inclusive")


def _validate_limited(limited: Tree, path: Path) -> Iterator[FieldError]:
    yield from _validate_shares(limited, path)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        detail = "if specified, must be a non-negative integer"
        yield field.invalid(path.child("borrowingLimitPercent"), borrowing, detail)
    response, limit_response_path = limited.get("limitResponse") or {}, path.child("limitResponse")
    queuing = response.get("queuing")
    match response.get("type") or "":
        case "Reject":
            if queuing is not None:
                detail = "must be nil if limited.limitResponse.type is not Limited"
                yield field.forbidden(limit_response_path.child("queuing"), detail)
        case "Queue":
            if queuing is None:
                detail = "must not be empty if limited.limitResponse.type is Limited"
                yield field.required(limit_response_path.child("queuing"), detail)
            else:
                yield from _validate_queuing(queuing, limit_response_path.child("queuing"))
        case other:
            yield field.not_supported(limit_response_path.child("type"), other, ("Queue", "Reject"))


def _validate_queuing(queuing: Tree, path: Path) -> Iterator[FieldError]:
    length, queues, hand = (queuing.get(name) or 0 for name in ("queueLengthLimit", "queues", "handSize"))
    if length <= 0:
        yield field.invalid(path.child("queueLengthLimit"), length, "must be positive")
    if queues <= 0:
        yield field.invalid(path.child("queues"), queues, "must be positive")
    elif queues > _QUEUES_MAX:
        yield field.invalid(path.child("queues"), queues, f"must not be greater than {_QUEUES_MAX}")
    hand_size_path = path.child("handSize")
    if hand <= 0:
        yield field.invalid(hand_size_path, hand, "must be positive")
    elif hand > queues:
        yield field.invalid(hand_size_path, hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _ENTROPY_BITS_MAX:
        detail = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than "
            f"{_ENTROPY_BITS_MAX}"
        )
        yield field.invalid(hand_size_path, hand, detail)
