"""Interface of the rules of a kind, which has one ``Strategy`` in ``kinds/<group>/<kind>``.

The generic store calls the methods in upstream's order (``rest.BeforeCreate``/``BeforeUpdate``):

create: ``default`` (in the client's version) → [managedFields, mutating admission] → ``prepare_for_create`` →
``validate`` → ``canonicalize`` → ``extra_ops_on_create`` → [validating admission] → one transaction
update: ``default`` → [managedFields, mutating admission] → ``UpdateHooks.prepare`` → ``UpdateHooks.validate`` →
``canonicalize`` → ``extra_ops_on_update`` → [validating admission] → one transaction

``Strategy.update_hooks`` names the hooks of the main resource, of ``/status``, and of the other subresources through which
a kind's object is written as a whole (``finalize``, ``approval``, ``resize``, …).

Objects are trees in the *storage version* of the kind, except in ``default`` (the client's version). Methods change the
new object in place and never the old one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import msgspec

from steersman.apimachinery import names
from steersman.schema.decoding import zero
from steersman.schema.descriptions import describe
from steersman.schema.loader import struct
from steersman.schema.resources import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext
    from steersman.storage.store import Op

#: Resources whose status is cached; custom ones come and go.
_RESOURCES_MAX: Final = 1024


class Column(msgspec.Struct, frozen=True):
    """Column of a Table. A ``priority`` above 0 is shown with ``-o wide`` only."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    #: Description; empty: that of ``field``.
    description: str = ""
    #: Field of a built-in type whose documentation describes the column: ``core.v1.PodSpec.nodeName``.
    field: str = ""

    def text(self) -> str:
        """Return the description. Descriptions of fields are read on first use."""
        if not self.field:
            return self.description
        definition, _, name = self.field.rpartition(".")
        place = "io.k8s.apimachinery.pkg.apis" if definition.startswith("meta.") else "io.k8s.api"
        return describe(f"{place}.{definition}")[1].get(name, "")


class ScalePaths(msgspec.Struct, frozen=True):
    """Paths of a scalable kind's fields that ``autoscaling/v1 Scale`` shows."""

    spec_replicas: tuple[str, ...] = ("spec", "replicas")
    status_replicas: tuple[str, ...] = ("status", "replicas")
    #: A LabelSelector, or (RCs) a plain map; empty when there is none.
    selector: tuple[str, ...] = ("spec", "selector")


class UpdateHooks(NamedTuple):
    """Hooks of updates through one subresource, or of the main resource. Upstream: ``rest.RESTUpdateStrategy``.

    Each gets the request, the new object and the stored one.
    """

    #: Carry over from the stored object what the write may not change.
    prepare: Callable[[RequestContext, Tree, Tree], None]
    #: Return the errors of the change; metadata is checked by the caller.
    validate: Callable[[RequestContext, Tree, Tree], Sequence[FieldError]]
    #: Return texts for Warning headers.
    warnings: Callable[[RequestContext, Tree, Tree], Sequence[str]] | None = None
    #: A change may raise ``metadata.generation``, if the kind has one.
    bumps_generation: bool = True
    #: See ``Strategy.metadata_checks_on_update``.
    metadata_checks: tuple[int, int] = (1, 0)


class Strategy:
    """Default rules of a kind; strategies of kinds override them.

    The synchronous hooks run in a worker thread for large objects: state that the loop changes is read through ``on_loop``.
    """

    #: Group resource: ``pods``, ``deployments.apps``.
    group_resource: ClassVar[str] = ""
    #: PUT creates a missing object.
    allow_create_on_update: ClassVar[bool] = False
    #: PUT without a resourceVersion overwrites.
    allow_unconditional_update: ClassVar[bool] = True
    #: A completed DELETE returns the object instead of a Status.
    returns_deleted_object: ClassVar[bool] = False
    #: ``metadata.generation`` is kept: 1 on create, +1 when what ``generation_view`` shows changes.
    has_generation: ClassVar[bool] = False
    #: Default propagation policy of DELETE: ``background``, ``orphan`` (RCs, Jobs), ``none`` (Events: policies have no effect).
    default_propagation: ClassVar[str] = "background"
    #: Finalizers that the first DELETE adds for controllers that clean up first (custom resource definitions). It ignores
    #: the propagation policy, as upstream's storage of definitions does.
    delete_finalizers: ClassVar[tuple[str, ...]] = ()
    #: Warning of a DELETE without a propagation policy.
    delete_warning: ClassVar[str] = ""
    #: A DELETE only calls ``mark_terminating``; the object is removed once it ``is_finalized`` (Namespaces).
    deletes_in_phases: ClassVar[bool] = False
    #: The storage of the kind checks the preconditions of a DELETE, with other messages (Namespaces, CustomResourceDefinitions).
    checks_preconditions_itself: ClassVar[bool] = False
    #: Lists that must have an item. An empty one stays distinct from null until validation rejects it.
    required_lists: ClassVar[frozenset[tuple[str, ...]]] = frozenset()
    #: How often upstream's own update validation repeats the rules of metadata, which the caller applies once: those of
    #: a change (``ValidateObjectMetaUpdate``) and those of the object (``ValidateObjectMeta``). Each repetition shows
    #: as one more cause.
    metadata_checks_on_update: ClassVar[tuple[int, int]] = (1, 0)
    #: The same for updates of ``/status``, whose validation upstream is a function of its own.
    metadata_checks_on_status_update: ClassVar[tuple[int, int]] = (1, 0)
    #: Finalizers but the standard ones need a domain (not where upstream leaves out what core kinds add to the rules).
    finalizers_need_domains: ClassVar[bool] = True
    #: Metadata of a new object is checked once the rest is valid (where upstream's validation of the kind leaves it to
    #: ``rest.BeforeCreate``).
    checks_metadata_last: ClassVar[bool] = False
    #: True if validation depends on the user (escalation checks of roles and bindings).
    validation_depends_on_user: ClassVar[bool] = False
    #: Validation charges the work meter (clients supply expressions or patterns), and moves to a worker once it is expensive.
    #: The hooks of a write may then run twice.
    is_metered: ClassVar[bool] = False
    #: ``default`` of a spec depends on the spec alone, so that defaulted specs can be cached.
    has_cacheable_spec_defaults: ClassVar[bool] = False
    #: Writes update ``metadata.managedFields`` (not for signing requests, as upstream).
    has_managed_fields: ClassVar[bool] = True
    scale: ClassVar[ScalePaths | None] = None
    columns: ClassVar[tuple[Column, ...]] = (
        Column("Name", format="name", field="meta.v1.ObjectMeta.name"),
        Column("Created At", type="date", field="meta.v1.ObjectMeta.creationTimestamp"),
    )
    #: Lists as a Table are sorted by ``row_sort_key`` instead of by key.
    sorts_rows: ClassVar[bool] = False
    #: Field labels for field selectors besides ``metadata.name`` and ``metadata.namespace``: label → text of the object.
    field_labels: ClassVar[Mapping[str, Callable[[Tree], str]]] = {}
    #: ``metadata.namespace`` is a field label too (not for a few cluster-scoped kinds).
    namespace_field_label: ClassVar[bool] = True
    #: Error of a field selector by an unknown label, for kinds with labels of their own (``{quoted}``: in quotes).
    unknown_field_label: ClassVar[str] = "field label not supported: {label}"
    #: Paths that a write of the main resource, or of a subresource, never owns: subresource → top-level paths.
    reset_fields: ClassVar[Mapping[str, tuple[tuple[str, ...], ...]]] = {"": (("status",),), "status": (("spec",),)}

    def update_hooks(self) -> Mapping[str, UpdateHooks]:
        """Return the hooks of updates by subresource; the main resource is ``""``. A Scale is written as the object itself."""
        main = UpdateHooks(
            self.prepare_for_update,
            self.validate_update,
            self.warnings,
            metadata_checks=self.metadata_checks_on_update,
        )
        status = UpdateHooks(
            self.prepare_for_status_update,
            self.validate_status_update,
            self.status_warnings,
            bumps_generation=False,
            metadata_checks=self.metadata_checks_on_status_update,
        )
        return {"": main, "scale": main, "status": status}

    # -- defaults and preparation ---------------------------------------------------------------------------------

    def default(self, obj: Tree, version: str) -> None:
        """Set defaults. Idempotent. ``version`` is that of the tree."""

    def default_except_spec(self, obj: Tree, version: str) -> None:
        """Default the rest of an object that has only metadata and spec (``has_cacheable_spec_defaults``)."""

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        """Drop fields that clients may not set (status) and set those of the server."""
        self.reset_status(obj)

    def reset_status(self, obj: Tree) -> None:
        """Reset the status: remove it, or set the zero values that Go's encoder always writes."""
        encoded = _encoded_zero_status(self.group_resource)
        if encoded is None:
            obj.pop("status", None)
        else:
            obj["status"] = msgspec.json.decode(encoded)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Restore fields of ``old`` that this write may not change."""
        _carry(obj, old, "status")

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Prepare an update of ``/status``: everything but the status comes from ``old``."""
        for key in [k for k in obj if k not in ("apiVersion", "kind", "metadata", "status")]:
            del obj[key]
        for key, value in old.items():
            if key not in ("apiVersion", "kind", "metadata", "status"):
                obj[key] = value

    def canonicalize(self, obj: Tree) -> None:
        """Normalize a valid object to its stored form."""

    # -- validation -------------------------------------------------------------------------------------------------

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        """Return the errors of ``name`` (with ``prefix``: of a generateName)."""
        return names.name_is_dns_subdomain(name, prefix=prefix)

    def name_rule(self, obj: Tree) -> names.NameRule:
        """Return the name rule of a new object; ``name_errors`` unless it depends on other fields."""
        return self.name_errors

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        """Return the errors of a new object; metadata is validated by the caller."""
        return ()

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        """Return the errors of an update; metadata is validated by the caller."""
        return ()

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        """Return the errors of an update of ``/status``."""
        return ()

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        """Return the texts of Warning headers of a successful write (``old`` None: a create)."""
        return ()

    def status_warnings(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[str]:
        """Return warnings about an update of ``/status``."""
        return ()

    # -- operations in the transaction of a write ----------------------------------------------------------------------------

    async def extra_ops_on_create(self, ctx: RequestContext, obj: Tree) -> Sequence[Op]:
        """Return operations on other keys for the transaction of the object (allocated addresses). May change ``obj``.

        Called again when an operation's expectation fails. A dry run calls it too and writes nothing.
        """
        return ()

    async def extra_ops_on_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[Op]:
        """Return operations on other keys for the transaction of an update; see ``extra_ops_on_create``."""
        return ()

    async def extra_ops_on_delete(self, ctx: RequestContext, obj: Tree) -> Sequence[Op]:
        """Return operations on other keys for the transaction that removes ``obj``; see ``extra_ops_on_create``."""
        return ()

    async def check_allocations(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> None:
        """Raise the error of values that a prepared but invalid object requests and that cannot be allocated.

        Upstream allocates in ``BeginCreate`` and ``BeginUpdate``, before it validates.
        """

    # -- deletion -----------------------------------------------------------------------------------------------------

    def grace_period_seconds(self, ctx: RequestContext, obj: Tree, requested_seconds: int | None) -> int:
        """Return the grace period of a DELETE; 0 removes the object at once. Kinds without grace periods return 0."""
        return 0

    def check_graceful_delete(self, ctx: RequestContext, obj: Tree) -> None:
        """Raise a StatusError when this object must not be deleted now."""

    def mark_terminating(self, obj: Tree) -> None:
        """Mark the object as terminating (kinds that are deleted in phases)."""

    def mark_deleted(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Change an object that finalizers retain, when its deletion begins.

        ``metadata`` is the object's own, everything else is shared with ``old``.
        """

    def is_finalized(self, obj: Tree) -> bool:
        """Report whether a terminating object can be removed, except for ``metadata.finalizers``."""
        return True

    # -- views ----------------------------------------------------------------------------------------------------------

    def generation_view(self, obj: Tree) -> Any:
        """Return the part of an object whose changes raise ``metadata.generation``: the spec by default."""
        return obj.get("spec")

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        """Return the cells of the object's row of the Table."""
        metadata = obj["metadata"]
        return [metadata.get("name", ""), metadata.get("creationTimestamp")]

    def row_conditions(self, obj: Tree) -> Sequence[Tree]:
        """Return the conditions of the Table row (a pod that has completed); empty for most kinds."""
        return ()

    def row_sort_key(self, obj: Tree) -> Any:
        """Return the key by which the rows of a list's Table are sorted if ``sorts_rows``."""
        return obj["metadata"].get("name", "")


@lru_cache(maxsize=_RESOURCES_MAX)
def _encoded_zero_status(group_resource: str) -> bytes | None:
    """Return the status of a new object of a built-in kind in its storage version; None when it has none."""
    name, _, group = group_resource.partition(".")
    for resource in table().resources:
        stored = resource.api_version == resource.storage_api_version
        if resource.name == name and resource.group == group and stored and resource.definition:
            status = zero(struct(resource.definition)).get("status")
            return None if status is None else msgspec.json.encode(status)
    return None


def _carry(obj: Tree, old: Tree, key: str) -> None:
    """Restore ``obj[key]`` from ``old``."""
    if key in old:
        obj[key] = old[key]
    else:
        obj.pop(key, None)
