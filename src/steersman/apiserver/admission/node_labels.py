"""Labels that a kubelet may set on its Node. Upstream: ``kubeletapis.IsKubeletLabel``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree


_KUBELET_LABELS: Final = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    }
)
_KUBELET_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_KUBERNETES_DOMAINS: Final = ("kubernetes.io", "k8s.io")
#: Domain reserved for node isolation.
_RESTRICTED_DOMAINS: Final = ("node-restriction.kubernetes.io",)


def forbidden_labels(new: Tree, old: Tree | None) -> list[str]:
    """Return the changed labels that a kubelet may not change, sorted."""
    now, before = _labels(new), _labels(old)
    changed = [key for key in {*now, *before} if key not in now or now[key] != before.get(key)]
    return sorted(key for key in changed if _is_forbidden(key))


def _is_forbidden(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    if _is_within(domain, _RESTRICTED_DOMAINS):
        return True
    if not _is_within(domain, _KUBERNETES_DOMAINS):
        return False
    return key not in _KUBELET_LABELS and not _is_within(domain, _KUBELET_DOMAINS)


def _is_within(domain: str, of: Iterable[str]) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in of)


def _labels(node: Tree | None) -> dict[str, str]:
    return ((node or {}).get("metadata") or {}).get("labels") or {}
