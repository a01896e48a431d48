"""What every kind says of its objects for quotas, and the kinds of which only the number counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apiserver.kinds.shared.quota.amounts import ONE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.quota.amounts import Amounts

#: Core kinds whose number had a name of its own before ``count/<resource>``.
_ALIASES: Final = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets"})


class Evaluator:
    """Counts objects; kinds that take more than their number override what is theirs."""

    #: Changes of the object itself may change what it takes.
    counts_updates: ClassVar[bool] = False
    #: Subresources whose updates may.
    counted_subresources: ClassVar[tuple[str, ...]] = ()

    def __init__(self, group_resource: str) -> None:
        self._names: Final = (f"count/{group_resource}", *({group_resource} & _ALIASES))

    def concerns_update(self, obj: Tree, old: Tree) -> bool:
        """Report whether an update of the object itself may change its usage or the quotas that count it."""
        del obj, old
        return True

    def matching(self, names: Iterable[str]) -> list[str]:
        """Those resources of a quota that objects of this kind may take of, in order."""
        return sorted(name for name in names if name in self._names)

    def usage(self, obj: Tree, now: datetime) -> Amounts:
        """What the object takes."""
        del obj, now
        return dict.fromkeys(self._names, ONE)

    def fault(self, required: Iterable[str], obj: Tree) -> str:
        """Why an object may not come under a quota of these resources at all; empty when it may."""
        del required, obj
        return ""

    def is_in_scope(self, selector: Tree, obj: Tree) -> bool:
        """Whether one scope of a quota holds for the object. Kinds without scopes are in none."""
        del selector, obj
        return False


def scope_selectors(quota: Tree) -> list[Tree]:
    """The scopes of a quota in one form."""
    spec = quota.get("spec") or {}
    plain = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return plain + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def is_pertinent(quota: Tree, evaluator: Evaluator, obj: Tree) -> bool:
    """Whether the object is counted by the quota as its status says."""
    hard = (quota.get("status") or {}).get("hard") or {}
    if not evaluator.matching(hard):
        return False
    return all(evaluator.is_in_scope(selector, obj) for selector in scope_selectors(quota))


def is_selected(selector: Tree, value: str | None) -> bool:
    """Whether a scope selector picks objects with this value, or with none."""
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
