"""Who may ask for devices that others use: whoever may make claims in a namespace with a label (KEP-5018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.field import ErrorType, FieldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from steersman.apiserver.registry.strategy import Tree

    #: The labels of a namespace; None when there is no such namespace.
    NamespaceLabels = Callable[[str], dict[str, str] | None]

LABEL: Final = "resource.kubernetes.io/admin-access"
#: Upstream's path without a name is shown so.
_NOWHERE: Final = "[]"


def no_namespaces(_: str) -> dict[str, str] | None:
    """For strategies that nobody told of namespaces: admin access is nowhere allowed then."""
    return None


def check_requests(spec: Tree, namespace: str, labels_of: NamespaceLabels) -> Iterator[FieldError]:
    """What is wrong with a new claim's wish for admin access."""
    requests = (spec.get("devices") or {}).get("requests") or ()
    if _any_admin(request.get("exactly") or {} for request in requests):
        yield from _check_namespace(namespace, labels_of)


def check_allocation(obj: Tree, old: Tree, labels_of: NamespaceLabels) -> Iterator[FieldError]:
    """What is wrong with admin access that a status grants; what was granted may stay."""
    if _any_admin(_results(obj)) and not _any_admin(_results(old)):
        yield from _check_namespace(obj["metadata"].get("namespace", ""), labels_of)


def _check_namespace(namespace: str, labels_of: NamespaceLabels) -> Iterator[FieldError]:
    labels = labels_of(namespace)
    if labels is None:
        detail = f'could not retrieve namespace: namespaces "{namespace}" not found'
        yield FieldError(ErrorType.INTERNAL, _NOWHERE, detail=detail)
    elif labels.get(LABEL) != "true":
        detail = f"admin access to devices requires the `{LABEL}: true` label on the containing namespace"
        yield FieldError(ErrorType.FORBIDDEN, _NOWHERE, detail=detail)


def _results(claim: Tree) -> Any:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or ()


def _any_admin(holders: Iterable[Tree]) -> bool:
    return any(holder.get("adminAccess") for holder in holders)
