"""Resources and scopes that may be used only where a ResourceQuota covers them (``ResourceQuotaConfiguration``).

Upstream: ``LimitedResource`` of staging/.../plugin/resourcequota/apis/resourcequota/types.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from steersman.apimachinery.trees import Tree

_KINDS: Final = (
    ("apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration"),
    ("resourcequota.admission.k8s.io/v1beta1", "Configuration"),
    ("resourcequota.admission.k8s.io/v1alpha1", "Configuration"),
)


class LimitedResource(NamedTuple):
    """A resource whose use is limited by default."""

    group_resource: str
    #: Parts of the names of the quota resources that a quota must have.
    match_contains: tuple[str, ...] = ()
    #: Scope selectors; the scope of one that matches an object must be one of a quota.
    match_scopes: tuple[Tree, ...] = ()


def read_limited_resources(configuration: Tree | None) -> tuple[LimitedResource, ...]:
    """Return the limited resources of a ``ResourceQuotaConfiguration``. Raises ValueError."""
    if configuration is None:
        return ()
    kind = (configuration.get("apiVersion") or "", configuration.get("kind") or "")
    if kind not in _KINDS:
        raise ValueError(f"ResourceQuota: no kind {kind[1]!r} of {kind[0]!r}")
    return tuple(_read(configuration.get("limitedResources") or ()))


def _read(trees: Iterable[Tree]) -> Iterator[LimitedResource]:
    for position, tree in enumerate(trees):
        resource, group = tree.get("resource") or "", tree.get("apiGroup") or ""
        if not resource:
            raise ValueError(f"ResourceQuota: limitedResources[{position}].resource: Required value")
        yield LimitedResource(
            f"{resource}.{group}" if group else resource,
            tuple(tree.get("matchContains") or ()),
            tuple(tree.get("matchScopes") or ()),
        )


def scopes_text(selectors: Sequence[Tree]) -> str:
    """Format scope selectors for messages, as Go prints them."""
    return " ".join(
        f"{{{selector.get('scopeName', '')} {selector.get('operator', '')} [{' '.join(selector.get('values') or ())}]}}"
        for selector in selectors
    )
