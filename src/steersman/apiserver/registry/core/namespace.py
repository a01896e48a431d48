"""Namespaces: a finalizer of their own in the spec, a phase, a label with the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import names
from steersman.apimachinery.field import Path
from steersman.apimachinery.metadata_validation import validate_finalizer_name, validate_standard_finalizers
from steersman.apiserver.registry.columns import AGE_COLUMN, NAME_COLUMN, age, name_of
from steersman.apiserver.registry.strategy import Column, Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apiserver.registry.strategy import Tree
    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.request import RequestContext

NAME_LABEL: Final = "kubernetes.io/metadata.name"
FINALIZER: Final = "kubernetes"


class NamespaceStrategy(Strategy):
    """``spec.finalizers`` change through ``/finalize`` only."""

    group_resource = "namespaces"
    deletes_in_phases = True
    reset_fields: ClassVar = {"": (("status",),), "status": (("spec",),), "finalize": (("status",),)}
    namespace_field_label = False
    field_labels: ClassVar = {"status.phase": lambda obj: (obj.get("status") or {}).get("phase", "")}
    columns = (NAME_COLUMN, Column("Status"), AGE_COLUMN)

    def default(self, obj: Tree, version: str) -> None:
        metadata = obj["metadata"]
        if name := metadata.get("name"):
            metadata.setdefault("labels", {})[NAME_LABEL] = name
        status = obj.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Active"

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)

    def canonicalize(self, obj: Tree) -> None:
        # again, for names that were generated after the defaults
        obj["metadata"].setdefault("labels", {})[NAME_LABEL] = obj["metadata"]["name"]

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        obj["spec"] = {**(obj.get("spec") or {}), "finalizers": list((old.get("spec") or {}).get("finalizers") or ())}
        if not obj["spec"]["finalizers"]:
            del obj["spec"]["finalizers"]
        super().prepare_for_update(ctx, obj, old)

    def prepare_for_finalize(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """As ``prepare_for_update``, for ``/finalize``: only the finalizers of the spec change."""
        obj["status"] = old.get("status") or {}

    def validate_finalize(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        """The names of the finalizers left."""
        path = Path("spec", "finalizers")
        errors: list[FieldError] = []
        for position, name in enumerate((obj.get("spec") or {}).get("finalizers") or ()):
            errors += validate_finalizer_name(name, path.index(position))
        return errors + validate_standard_finalizers((obj.get("spec") or {}).get("finalizers") or (), path)

    def mark_terminating(self, obj: Tree) -> None:
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}

    def is_finalized(self, obj: Tree) -> bool:
        return not (obj.get("spec") or {}).get("finalizers")

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_dns_label(name, prefix=prefix)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [name_of(obj), (obj.get("status") or {}).get("phase", ""), age(obj, now)]
