"""Strategy of Namespaces: spec finalizers, ``status.phase`` and the label ``kubernetes.io/metadata.name``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import names
from steersman.apimachinery.field import Path, invalid
from steersman.apimachinery.metadata_validation import validate_finalizer_name
from steersman.apiserver.generic.columns import AGE_COLUMN, NAME_COLUMN, age, name_of
from steersman.apiserver.generic.strategy import Column, Strategy, UpdateHooks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

NAME_LABEL: Final = "kubernetes.io/metadata.name"
FINALIZER: Final = "kubernetes"
ACTIVE: Final = "Active"
TERMINATING: Final = "Terminating"
#: Finalizers that are valid without a domain.
_PLAIN_FINALIZERS: Final = (FINALIZER, "orphan", "foregroundDeletion")


class NamespaceStrategy(Strategy):
    """Strategy of Namespaces. ``spec.finalizers`` are writable only through ``/finalize``."""

    group_resource = "namespaces"
    checks_preconditions_itself = True
    metadata_checks_on_update = (1, 1)
    deletes_in_phases = True
    reset_fields: ClassVar = {"": (("status",),), "status": (("spec",),), "finalize": (("status",),)}
    namespace_field_label = False
    field_labels: ClassVar = {"status.phase": lambda obj: (obj.get("status") or {}).get("phase", "")}
    columns = (NAME_COLUMN, Column("Status", description="The status of the namespace"), AGE_COLUMN)

    def default(self, obj: Tree, version: str) -> None:
        metadata = obj["metadata"]
        if name := metadata.get("name"):
            metadata.setdefault("labels", {})[NAME_LABEL] = name
        status = obj.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = ACTIVE

    def update_hooks(self) -> Mapping[str, UpdateHooks]:
        return {
            **super().update_hooks(),
            "finalize": UpdateHooks(self.prepare_for_finalize, self.validate_finalize),
        }

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        obj["status"] = {"phase": ACTIVE}
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)

    def canonicalize(self, obj: Tree) -> None:
        # repeated here, as a generated name is not known yet when defaults are set
        obj["metadata"].setdefault("labels", {})[NAME_LABEL] = obj["metadata"]["name"]

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        obj["spec"] = {**(obj.get("spec") or {}), "finalizers": list((old.get("spec") or {}).get("finalizers") or ())}
        if not obj["spec"]["finalizers"]:
            del obj["spec"]["finalizers"]
        super().prepare_for_update(ctx, obj, old)

    def prepare_for_finalize(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Carry over all fields but ``spec.finalizers``."""
        obj["status"] = old.get("status") or {}

    def validate_finalize(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        """Validate the names of the remaining spec finalizers."""
        path = Path("spec", "finalizers")
        return [
            error
            for position, name in enumerate((obj.get("spec") or {}).get("finalizers") or ())
            for error in _finalizer_errors(name, path.index(position))
        ]

    def mark_terminating(self, obj: Tree) -> None:
        obj["status"] = {**(obj.get("status") or {}), "phase": TERMINATING}

    def is_finalized(self, obj: Tree) -> bool:
        return not (obj.get("spec") or {}).get("finalizers")

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_dns_label(name, prefix=prefix)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return [
            error
            for name in (obj.get("spec") or {}).get("finalizers") or ()
            for error in _finalizer_errors(name, Path("spec", "finalizers"))
        ]

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        phase = (obj.get("status") or {}).get("phase") or ""
        if obj["metadata"].get("deletionTimestamp"):
            expected, detail = TERMINATING, "may only be 'Terminating' if `deletionTimestamp` is not empty"
        else:
            expected, detail = ACTIVE, "may only be 'Active' if `deletionTimestamp` is empty"
        return () if phase == expected else (invalid(Path("status", "Phase"), phase, detail),)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [name_of(obj), (obj.get("status") or {}).get("phase", ""), age(obj, now)]


def _finalizer_errors(name: str, path: Path) -> Iterator[FieldError]:
    """Validate the name of a spec finalizer; only Kubernetes' own may lack a domain."""
    yield from validate_finalizer_name(name, path)
    if "/" not in name and name not in _PLAIN_FINALIZERS:
        yield invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")
