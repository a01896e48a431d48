"""Warnings about deprecated node labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree

_TEXTS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def label_warning(label: str, place: object) -> Iterator[str]:
    """Yield a warning if the label named by the field at ``place`` is deprecated."""
    text = _TEXTS.get(label)
    if text is not None:
        yield f"{place}: {text}"


def key_warning(label: str, place: object) -> Iterator[str]:
    """Yield a warning if the label that is a key at ``place`` is deprecated."""
    text = _TEXTS.get(label)
    if text is not None:
        yield f"{place}: {label} is {text}"


def selector_warnings(selector: Tree | None, place: str) -> Iterator[str]:
    """Yield warnings about deprecated labels in a LabelSelector."""
    for position, expression in enumerate((selector or {}).get("matchExpressions") or ()):
        yield from key_warning(expression.get("key") or "", f"{place}.matchExpressions[{position}].key")
    for label in sorted((selector or {}).get("matchLabels") or ()):
        yield from label_warning(label, f"{place}.matchLabels.{label}")
