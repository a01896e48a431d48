"""Validation and warnings of StorageClasses."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.deprecated_labels import label_warning
from steersman.apiserver.kinds.shared.validation import check_unchanged, repeat_positions, validate_qualified_name
from steersman.apiserver.kinds.storage.shared.classes import check_parameters, check_provisioner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_RECLAIM_POLICIES: Final = ("Delete", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_TOPOLOGIES: Final = Path("allowedTopologies")
#: Maximum number of errors about one term, for which upstream has no limit.
_DUPLICATES_MAX: Final = 100
_FIXED: Final = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def validate_storage_class(obj: Tree) -> Iterator[FieldError]:
    """Validate a StorageClass."""
    yield from check_provisioner(obj.get("provisioner") or "", Path("provisioner"))
    yield from check_parameters(obj.get("parameters"), Path("parameters"), may_be_empty=True)
    policy, mode = obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
    if policy and policy not in _RECLAIM_POLICIES:
        yield field.not_supported("reclaimPolicy", policy, _RECLAIM_POLICIES)
    if mode is None:
        yield field.required("volumeBindingMode")
    elif mode not in _BINDING_MODES:
        yield field.not_supported("volumeBindingMode", mode, _BINDING_MODES)
    yield from _validate_topologies(obj.get("allowedTopologies") or ())


def validate_storage_class_update(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate an update: parameters, provisioner, reclaim policy and binding mode are immutable."""
    yield from validate_storage_class(obj)
    for name in _FIXED:
        yield from check_unchanged(obj.get(name), old.get(name), Path(name))


def storage_class_warnings(obj: Tree) -> Iterator[str]:
    """Yield warnings about deprecated topology labels."""
    for position, term in enumerate(obj.get("allowedTopologies") or ()):
        for number, expression in enumerate(term.get("matchLabelExpressions") or ()):
            path = _TOPOLOGIES.index(position).child("matchLabelExpressions").index(number).child("key")
            yield from label_warning(expression.get("key") or "", str(path))


def _validate_topologies(terms: Sequence[Tree]) -> Iterator[FieldError]:
    # as upstream, a term gets an error for each equal one before it, and an empty one for each term in addition
    counts: Counter[frozenset[tuple[str, frozenset[str]]]] = Counter({frozenset(): len(terms)})
    for position, term in enumerate(terms):
        expressions_path = _TOPOLOGIES.index(position).child("matchLabelExpressions")
        meaning: dict[str, frozenset[str]] = {}
        for number, expression in enumerate(term.get("matchLabelExpressions") or ()):
            key = expression.get("key") or ""
            yield from _validate_expression(expression, expressions_path.index(number))
            if key in meaning:
                yield field.duplicate(expressions_path.index(number).child("key"), key)
            meaning[key] = frozenset(expression.get("values") or ())
        requirements = frozenset(meaning.items())
        for _ in range(min(counts[requirements], _DUPLICATES_MAX)):
            yield field.duplicate(expressions_path, "")
        counts[requirements] += 1


def _validate_expression(expression: Tree, path: Path) -> Iterator[FieldError]:
    values, values_path = expression.get("values") or (), path.child("values")
    if not values:
        yield field.required(values_path)
    repeats = repeat_positions(values)
    for position, value in enumerate(values):
        if position in repeats:
            yield field.duplicate(values_path.index(position), value)
    yield from validate_qualified_name(expression.get("key") or "", path.child("key"))
