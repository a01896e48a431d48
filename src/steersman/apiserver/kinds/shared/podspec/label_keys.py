"""``matchLabelKeys`` and ``mismatchLabelKeys`` of affinity terms and spread constraints, merged into selectors on
create.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from steersman.apimachinery.trees import Tree

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def merge_label_keys(spec: Tree, labels: Mapping[str, str]) -> None:
    """Merge ``matchLabelKeys`` and ``mismatchLabelKeys`` into the label selectors, using the Pod's labels.

    Keys without a label on the Pod are skipped; terms without a selector stay unchanged.
    """
    if affinity := spec.get("affinity"):
        for kind in ("podAffinity", "podAntiAffinity"):
            terms = affinity.get(kind) or {}
            for term in terms.get(_REQUIRED) or ():
                _merge(term, labels)
            for weighted in terms.get(_PREFERRED) or ():
                _merge(weighted.get("podAffinityTerm") or {}, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge(constraint, labels)


def _merge(term: Tree, labels: Mapping[str, str]) -> None:
    selector: dict[str, Any] | None = term.get("labelSelector")
    if selector is None:
        return
    added = [
        *_requirements(term.get("matchLabelKeys") or (), "In", labels),
        *_requirements(term.get("mismatchLabelKeys") or (), "NotIn", labels),
    ]
    if added:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]


def _requirements(keys: Iterable[str], operator: str, labels: Mapping[str, str]) -> list[Tree]:
    return [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels]
