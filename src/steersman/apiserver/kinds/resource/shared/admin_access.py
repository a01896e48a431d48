"""Validation of admin access to devices, which requires a namespace label (KEP-5018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.field import ErrorType, FieldError, Path
from steersman.apiserver.workers import on_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from steersman.apimachinery.trees import Tree

    #: Returns the labels of a namespace; None if it does not exist.
    NamespaceLabels = Callable[[str], dict[str, str] | None]

LABEL: Final = "resource.kubernetes.io/admin-access"
#: Paths of requests in claims and claim templates.
_REQUESTS: Final = Path("spec").child("devices", "requests")
_RESULTS: Final = Path("status").child("allocation", "devices", "results")


def no_namespaces(_: str) -> dict[str, str] | None:
    """Return None: without namespace lookup, admin access is always rejected."""
    return None


def check_requests(spec: Tree, namespace: str, labels_of: NamespaceLabels) -> Iterator[FieldError]:
    """Validate admin access in the requests of a new claim."""
    requests = (spec.get("devices") or {}).get("requests") or ()
    if admin_path := _first_admin((request.get("exactly") or {} for request in requests), _REQUESTS):
        yield from _check_namespace(admin_path, namespace, labels_of)


def check_allocation(obj: Tree, old: Tree, labels_of: NamespaceLabels) -> Iterator[FieldError]:
    """Validate admin access in an allocation; unchanged results are accepted."""
    if _first_admin(_results(old), _RESULTS) is None and (admin_path := _first_admin(_results(obj), _RESULTS)):
        yield from _check_namespace(admin_path, obj["metadata"].get("namespace", ""), labels_of)


def _check_namespace(path: Path, namespace: str, labels_of: NamespaceLabels) -> Iterator[FieldError]:
    labels = on_loop(labels_of, namespace)
    if labels is None:
        detail = f'could not retrieve namespace to verify admin access: namespaces "{namespace}" not found'
        yield FieldError(ErrorType.INTERNAL, path, detail=detail)
    elif labels.get(LABEL) != "true":
        detail = f"admin access to devices requires the `{LABEL}: true` label on the containing namespace"
        yield FieldError(ErrorType.FORBIDDEN, path, detail=detail)


def _results(claim: Tree) -> Any:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or ()


def _first_admin(holders: Iterable[Tree], path: Path) -> Path | None:
    """Return the path of the first item with admin access in the list at ``path``."""
    positions = (number for number, holder in enumerate(holders) if holder.get("adminAccess"))
    first = next(positions, None)
    return None if first is None else path.index(first).child("adminAccess")
