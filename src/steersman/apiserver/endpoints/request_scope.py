"""Request scope: the state for writes of a resource or subresource that requests share.

Upstream: ``RequestScope`` (staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.managedfields.creating import Creation
from steersman.apimachinery.managedfields.ownership import filter_of
from steersman.apimachinery.managedfields.schema import UnknownVersionError
from steersman.apimachinery.managedfields.updating import create_managed_fields
from steersman.apimachinery.managedfields.updating import update as update_managed_fields
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.admission.interface import Attributes, Operation
from steersman.apiserver.authz.interface import refusal
from steersman.apiserver.authz.pending import with_decisions
from steersman.apiserver.endpoints.body import ObjectDecoder, drop_empty_lists, empty_lists_of, equivalent_api_versions
from steersman.apiserver.endpoints.create_bodies import CachedSpec, CreateBodyCache
from steersman.apiserver.endpoints.noop_applies import NoopApplyCache
from steersman.apiserver.endpoints.options import field_manager_of
from steersman.apiserver.endpoints.representation import render_object
from steersman.apiserver.generic.conversion import PendingVersions
from steersman.apiserver.generic.writing import time_text
from steersman.apiserver.kinds.conversion import decoders_for
from steersman.apiserver.request import RequestContext, RequestInfo
from steersman.schema.decoding import decode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct
    from steersman.apiserver.admission.chain import AdmissionChain, Steps
    from steersman.apiserver.authz.interface import Authorizer, Decision
    from steersman.apiserver.endpoints.negotiation import Form
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.options import DeleteOptions, WriteOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.generic.store import ObjectStore
    from steersman.apiserver.http import Request, Response


def _with_verb(info: RequestInfo, verb: str) -> RequestInfo:
    return RequestInfo(
        verb, info.path, True, info.group, info.version, info.namespace, info.resource, info.name, info.subresource
    )


class RequestScope:
    """Types, versions, decoder and admission steps of the writes of one resource or subresource."""

    __slots__ = (
        "_authorizer",
        "_creation",
        "_namespaced",
        "_noop_applies",
        "_nullable_lists",
        "_version",
        "_writes_namespaces",
        "api_version",
        "create_bodies",
        "create_steps",
        "decoder",
        "delete_steps",
        "group_resource",
        "objects",
        "reset_fields",
        "served",
        "struct",
        "subresource",
        "update_steps",
        "versions",
    )

    def __init__(
        self,
        served: ServedResource,
        *,
        admission: AdmissionChain,
        authorizer: Authorizer,
        subresource: str = "",
        decoder: ObjectDecoder | None = None,
        versions: ServedVersions | None = None,
    ) -> None:
        resource = served.resource
        self.served: Final = served
        self.subresource: Final = subresource
        if served.storage is not None:  # reviews are kept nowhere
            self.objects: ObjectStore = served.storage
        self.group_resource: Final = resource.group_resource
        self.decoder: Final = decoder or ObjectDecoder(
            resource.kind,
            resource.api_version,
            served.decode or (None if served.struct is None else partial(decode, served.struct)),
            struct=None if served.is_custom else served.struct,
            equivalent_versions=equivalent_api_versions(resource.kind, resource.api_version),
            other_decoders=None if served.is_custom else decoders_for(resource),
            is_custom=served.is_custom,
            is_type_reset=subresource == "status",
            empty_lists=() if served.is_custom or served.struct is None else empty_lists_of(served.struct),
        )
        required_lists = served.strategy.required_lists
        self._nullable_lists: Final = tuple(path for path in self.decoder.empty_lists if path not in required_lists)
        #: Type and version of request bodies; None accepts any fields.
        self.struct: Struct | None = served.struct
        self.api_version: str = resource.api_version
        self.create_steps: Final[Steps] = admission.steps(served, subresource, Operation.CREATE)
        self.update_steps: Final[Steps] = admission.steps(served, subresource, Operation.UPDATE)
        self.delete_steps: Final[Steps] = admission.steps(served, subresource, Operation.DELETE)
        self._authorizer: Final = authorizer
        self._namespaced: Final = resource.namespaced
        self._version: Final = resource.version
        self.versions: Final = versions
        self.reset_fields: Final = served.strategy.reset_fields.get(subresource, ())
        self._noop_applies: NoopApplyCache | None = None
        self._creation: Creation | None = None
        self.create_bodies: Final = (
            CreateBodyCache(served.struct, resource.kind, resource.api_version)
            if served.strategy.has_cacheable_spec_defaults and served.struct is not None and not subresource
            else None
        )
        self._writes_namespaces: Final = resource.name == "namespaces" and not resource.group

    @property
    def noop_applies(self) -> NoopApplyCache | None:
        """Cache of applies that change nothing; None if the outcome depends on the caller."""
        cache = self._noop_applies
        is_whole_object = self.subresource in ("", "status")
        if cache is None and is_whole_object and not self.served.strategy.validation_depends_on_user:
            cache = self._noop_applies = NoopApplyCache()
        return cache

    # -- requests ------------------------------------------------------------------------------------------------------

    def context(self, request: Request, options: WriteOptions | DeleteOptions) -> RequestContext:
        """Return the context of one request."""
        return RequestContext(
            user=request.user,
            now=self.served.clock.now(),
            namespace=request.info.namespace if self._namespaced else "",
            path_name=request.info.name,
            version=self._version,
            verb=request.info.verb,
            subresource=self.subresource,
            dry_run=options.dry_run,
            audit_id=request.audit_id,
            warnings=request.warnings,
            annotations=request.annotations,
            latency=request.latency,
            group_resource=self.group_resource,
            spec_cache=self.served.spec_facts,
        )

    def write_context(self, request: Request, options: WriteOptions) -> RequestContext:
        """Return the context of one write, with its field manager."""
        ctx = self.context(request, options)
        ctx.field_manager = field_manager_of(request, options)
        if self.served.converter is not None and self.versions is not None:
            ctx.versions = self.versions.pending()
        return ctx

    def authorize_create(self, request: Request) -> None:
        """Raise 403 if the caller of an update that would create the object may not create it.

        Raises ``PendingDecisionError`` if the decision must be waited for.
        """
        info = _with_verb(request.info, "create")
        decision = self._authorizer.authorize(request.user, info)
        if not decision.allowed:
            raise refusal(request.user, info, decision.reason)

    async def decide(self, request: Request, verb: str) -> Decision:
        """Return the authorizer's decision on another verb for the same object."""
        return await with_decisions(self._authorizer.authorize, request.user, _with_verb(request.info, verb))

    def render(self, request: Request, entry: Entry, *, form: Form, code: int = 200) -> Awaitable[Response]:
        """Return the response with a stored object."""
        return render_object(self.served, request, entry, form=form, code=code)

    # -- objects -------------------------------------------------------------------------------------------------------

    def to_request_version(self, old: Tree) -> Tree:
        """Return a copy of a stored object in the version of the request."""
        copy: Tree = copy_tree(old)
        return copy if self.served.from_storage is None else self.served.from_storage(copy)

    def in_request_version(self, old: Tree) -> Tree:
        """Return a stored object in the version of the request, to be read only."""
        return old if self.served.from_storage is None else self.to_request_version(old)

    def default(self, tree: Tree) -> None:
        """Set defaults."""
        self.served.strategy.default(tree, self._version)

    def default_except_spec(self, tree: Tree) -> None:
        """Set defaults except in the spec, which is defaulted already."""
        self.served.strategy.default_except_spec(tree, self._version)

    def manage_fields(
        self,
        ctx: RequestContext,
        tree: Tree,
        old: Tree | None,
        cached_spec: CachedSpec | None = None,
    ) -> None:
        """Update ``managedFields`` after a write of ``tree``, in the version of the request, over ``old``.

        ``cached_spec`` is the unchanged, defaulted spec of a new object.
        """
        if self.struct is None:
            return
        metadata = tree["metadata"]
        if not self.served.strategy.has_managed_fields:
            metadata.pop("managedFields", None)
            return
        if old is None and not self.subresource and metadata.get("managedFields") is None:
            metadata.pop("managedFields", None)
            create_managed_fields(
                tree,
                self._creation or self._new_creation(self.struct),
                manager=ctx.field_manager,
                api_version=self.api_version,
                time=time_text(ctx.now),
                cached_spec=cached_spec,
                is_first_of_spec=ctx.is_first_of_spec,
            )
            return
        update_managed_fields(
            None if old is None else self.in_request_version(old),
            tree,
            struct=self.struct,
            manager=ctx.field_manager,
            api_version=self.api_version,
            time=time_text(ctx.now),
            subresource=self.subresource,
            reset_fields=self.reset_fields,
            versions=self.versions if ctx.versions is None else ctx.versions,
        )

    def _new_creation(self, struct: Struct) -> Creation:
        creation = self._creation = Creation(struct, filter_of(self.reset_fields))
        return creation

    def to_storage_version(self, tree: Tree) -> Tree:
        """Convert the client's object to the storage version."""
        if self._nullable_lists:
            drop_empty_lists(tree, self._nullable_lists)
        if self.served.to_storage is None or tree.get("kind") != self.decoder.kind:
            return tree  # an object of another kind is rejected unconverted
        return self.served.to_storage(tree)

    def merge_into_object(self, ctx: RequestContext, new: Tree, old: Tree | None) -> Tree:
        """Return the object to store: ``new`` itself, unless the subresource has another kind (Scale)."""
        return new

    # -- admission -----------------------------------------------------------------------------------------------------

    def mutation_attributes(
        self, ctx: RequestContext, new: Tree, old: Tree | None, options: WriteOptions, name: str
    ) -> Attributes:
        """Return a create or update as mutating admission sees it."""
        return self._attributes(ctx, new, old, options, name)

    def validation_attributes(
        self, ctx: RequestContext, new: Tree, old: Tree | None, options: WriteOptions, name: str
    ) -> Attributes:
        """Return a create or update as validating admission sees it."""
        return self._attributes(ctx, new, old, options, name)

    def _attributes(
        self, ctx: RequestContext, new: Tree, old: Tree | None, options: WriteOptions, name: str
    ) -> Attributes:
        return Attributes(
            Operation.CREATE if old is None else Operation.UPDATE,
            self.served,
            ctx,
            name=name,
            obj=new,
            old_object=old,
            subresource=self.subresource,
            options=options,
            namespace=name if self._writes_namespaces else None,
        )

    def noop_attributes(self, ctx: RequestContext, entry: Entry, options: WriteOptions, name: str) -> Attributes:
        """Return an update that leaves a stored object as it is, for mutating and validating admission."""
        return Attributes(
            Operation.UPDATE,
            self.served,
            ctx,
            name=name,
            obj=None,
            subresource=self.subresource,
            options=options,
            namespace=name if self._writes_namespaces else None,
            decode=partial(self.objects.layout.tree, entry),
        )

    def delete_attributes(self, ctx: RequestContext, old: Tree, options: DeleteOptions, name: str) -> Attributes:
        """Return a delete as admission sees it."""
        return Attributes(
            Operation.DELETE,
            self.served,
            ctx,
            name=name,
            obj=None,
            old_object=old,
            subresource=self.subresource,
            options=options,
            namespace=name if self._writes_namespaces else None,
        )


class ServedVersions:
    """Versions of one resource for managed fields (``Versions``)."""

    __slots__ = ("_others", "_served")

    def __init__(self, served: ServedResource, others: Mapping[str, ServedResource]) -> None:
        self._served: Final = served
        self._others: Final = others

    def pending(self) -> PendingVersions:
        """Return the versions for one write whose conversions are webhook calls."""
        return PendingVersions(self._served, self._others)

    def struct(self, api_version: str) -> Struct:
        """Return the kind's type in a version."""
        other = self._others.get(api_version)
        if other is None or other.struct is None:
            raise UnknownVersionError(api_version)
        return other.struct

    def convert(self, tree: Tree, api_version: str) -> Tree:
        """Return an object, which is not changed, in another version."""
        source = self._others.get(tree.get("apiVersion", ""), self._served)
        target = self._others.get(api_version)
        if target is None:
            raise UnknownVersionError(api_version)
        copy: Tree = copy_tree({"metadata": {}, **tree})
        if source.to_storage is not None:
            copy = source.to_storage(copy)
        return copy if target.from_storage is None else target.from_storage(copy)
