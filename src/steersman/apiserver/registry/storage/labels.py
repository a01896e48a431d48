"""Labels of nodes that were renamed, and what their users are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apiserver.registry.strategy import Tree

_RENAMED: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}


def label_warning(label: str, place: str) -> Iterator[str]:
    """What to say of a label at a place, if it is an old one."""
    renamed = _RENAMED.get(label)
    if renamed is not None:
        since, new = renamed
        yield f'{place}: deprecated since {since}; use "{new}" instead'


def selector_warnings(selector: Tree | None, place: str) -> Iterator[str]:
    """What to say of the labels in a LabelSelector."""
    for position, expression in enumerate((selector or {}).get("matchExpressions") or ()):
        yield from label_warning(expression.get("key") or "", f"{place}.matchExpressions[{position}].key")
    for label in sorted((selector or {}).get("matchLabels") or ()):
        yield from label_warning(label, f"{place}.matchLabels.{label}")
