"""Interface of quota evaluators, and the evaluator of kinds that only count objects. Upstream: ``quota.Evaluator``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apiserver.kinds.shared.quota.amounts import ONE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.quota.amounts import Amounts

#: Core resources counted under their own name before ``count/<resource>`` existed.
_ALIASES: Final = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets"})


class Evaluator:
    """Evaluator that counts objects; kinds with further usage override its methods."""

    #: Updates of the main resource may change usage.
    counts_updates: ClassVar[bool] = False
    #: Subresources whose updates may change usage.
    counted_subresources: ClassVar[tuple[str, ...]] = ()

    def __init__(self, group_resource: str) -> None:
        self._names: Final = (f"count/{group_resource}", *({group_resource} & _ALIASES))

    def concerns_update(self, obj: Tree, old: Tree) -> bool:
        """Report whether an update of the object itself may change its usage or the quotas that count it."""
        del obj, old
        return True

    def matching(self, names: Iterable[str]) -> list[str]:
        """Return the resources of a quota that objects of this kind use, in order."""
        return sorted(name for name in names if name in self._names)

    def usage(self, obj: Tree, now: datetime) -> Amounts:
        """Return the usage of the object."""
        del obj, now
        return dict.fromkeys(self._names, ONE)

    def fault(self, required: Iterable[str], obj: Tree) -> str:
        """Return why the object is invalid under a quota of ``required`` resources; empty if valid.

        Upstream: ``Constraints``.
        """
        del required, obj
        return ""

    def is_in_scope(self, selector: Tree, obj: Tree) -> bool:
        """Report whether a scope selector matches the object. Kinds without scopes never match."""
        del selector, obj
        return False


def scope_selectors(quota: Tree) -> list[Tree]:
    """Return the scopes of a quota as scope selector requirements."""
    spec = quota.get("spec") or {}
    plain = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return plain + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def is_pertinent(quota: Tree, evaluator: Evaluator, obj: Tree) -> bool:
    """Report whether the quota, by its status, counts the object."""
    hard = (quota.get("status") or {}).get("hard") or {}
    if not evaluator.matching(hard):
        return False
    return all(evaluator.is_in_scope(selector, obj) for selector in scope_selectors(quota))


def is_selected(selector: Tree, value: str | None) -> bool:
    """Report whether a scope selector matches this value, or its absence."""
    match selector.get("operator"):
        case "Exists":
            return bool(value)
        case "DoesNotExist":
            return not value
        case "In":
            return bool(value) and value in (selector.get("values") or ())
        case "NotIn":
            return value not in (selector.get("values") or ())
    return False
