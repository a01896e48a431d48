"""Node selection rules of pods: labels, names and taints. Upstream: ``k8s.io/component-helpers/scheduling``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.selectors import LabelSelector, SelectorError
from steersman.apimachinery.selectors.labels import requirement
from steersman.client.objects import labels_of, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from lightkube.models.core_v1 import Node, NodeSelectorTerm, PodSpec, Taint, Toleration

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"

_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}


def required_node_affinity_matches(spec: PodSpec, node: Node) -> bool:
    """Report whether the Pod's ``nodeSelector`` and required node affinity choose the node."""
    if not (spec.nodeSelector or {}).items() <= labels_of(node).items():
        return False
    affinity = spec.affinity.nodeAffinity if spec.affinity else None
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity else None
    return required is None or any(
        node_term(term)(name_of(node), labels_of(node)) for term in required.nodeSelectorTerms
    )


def node_term(term: NodeSelectorTerm) -> Callable[[str, Mapping[str, str]], bool]:
    """Compile one term of a node selector to a predicate of node name and labels.

    An empty term, and one that cannot be parsed, match no node.
    """
    expressions, fields = term.matchExpressions or (), term.matchFields or ()
    try:
        labels = LabelSelector(
            [
                requirement(expression.key, _OPERATORS[expression.operator], expression.values or ())
                for expression in expressions
            ]
        )
    except (SelectorError, KeyError):
        return _choose_nothing
    if not fields:
        return (lambda _, node_labels: labels.matches(node_labels)) if expressions else _choose_nothing
    if any(field.key != "metadata.name" for field in fields):
        return _choose_nothing
    named = [(field.operator == "In", frozenset(field.values or ())) for field in fields]
    return lambda name, node_labels: (
        all((name in names) is is_included for is_included, names in named) and labels.matches(node_labels)
    )


def _choose_nothing(_name: str, _labels: Mapping[str, str]) -> bool:
    return False


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Report whether a toleration is for a taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator or "Equal":
        case "Exists":
            return True
        case "Equal":
            return (toleration.value or "") == (taint.value or "")
        case operator:
            return _compares(operator, taint.value or "", toleration.value or "")


def _compares(operator: str, of_taint: str, of_toleration: str) -> bool:
    """Compare integers by the toleration operators ``Lt`` and ``Gt`` (KEP-5471)."""
    try:
        left, right = int(of_taint), int(of_toleration)
    except ValueError:
        return False
    return left < right if operator == "Lt" else left > right if operator == "Gt" else False


def untolerated(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], *, effects: Collection[str] = (NO_SCHEDULE, NO_EXECUTE)
) -> Taint | None:
    """Return the first taint with one of the effects that no toleration matches."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None
