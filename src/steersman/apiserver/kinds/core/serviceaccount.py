"""Strategy of ServiceAccounts. ``endpoints/token_request.py`` issues their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.generic.columns import AGE_COLUMN, NAME_COLUMN, age, name_of
from steersman.apiserver.generic.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(Strategy):
    """Strategy of ServiceAccounts."""

    group_resource = "serviceaccounts"
    metadata_checks_on_update = (1, 1)
    returns_deleted_object = True
    reset_fields: ClassVar = {}
    columns = (NAME_COLUMN, AGE_COLUMN)

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        """Keep only the names of ``secrets``."""
        for secret in obj.get("secrets") or ():
            for name in [name for name in secret if name != "name"]:
                del secret[name]

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        self.prepare_for_create(ctx, obj)

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        if _MOUNTABLE not in (obj["metadata"].get("annotations") or {}):
            return ()
        if old is not None and _MOUNTABLE in (old["metadata"].get("annotations") or {}):
            return ()
        annotation = f"metadata.annotations[{_MOUNTABLE}]"
        return (f"{annotation}: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [name_of(obj), age(obj, now)]
