"""A resource, or a subresource of it, as the writing endpoints see it: all that can be worked out before a request comes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.managedfields.creating import creation_of
from steersman.apimachinery.managedfields.ownership import filter_of
from steersman.apimachinery.managedfields.schema import UnknownVersionError
from steersman.apimachinery.managedfields.updating import own_new
from steersman.apimachinery.managedfields.updating import update as own_update
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.admission.interface import Attributes, Operation
from steersman.apiserver.authz.interface import refusal
from steersman.apiserver.endpoints.body import ObjectDecoder, drop_empty_lists, empty_lists_of, kin_of
from steersman.apiserver.endpoints.known_bodies import KnownBodies, KnownSpec
from steersman.apiserver.endpoints.media import JSON
from steersman.apiserver.endpoints.options import field_manager_of
from steersman.apiserver.endpoints.repeating import RepeatedApplies
from steersman.apiserver.endpoints.representation import render_object
from steersman.apiserver.generic.writing import dedupe_owner_references, time_text
from steersman.apiserver.request import RequestContext, RequestInfo
from steersman.schema.decoding import decode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from steersman.apimachinery.managedfields.creating import Creation
    from steersman.apimachinery.managedfields.schema import Versions
    from steersman.apimachinery.typemodel import Struct
    from steersman.apiserver.admission.chain import AdmissionChain, Steps
    from steersman.apiserver.authz.interface import Authorizer, Decision
    from steersman.apiserver.endpoints.negotiation import Form
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.options import DeleteOptions, WriteOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.generic.store import ObjectStore
    from steersman.apiserver.http import Request, Response

    Tree = dict[str, Any]


def _with_verb(info: RequestInfo, verb: str) -> RequestInfo:
    return RequestInfo(
        verb, info.path, True, info.group, info.version, info.namespace, info.resource, info.name, info.subresource
    )


class Target:
    """What a write goes to. ``shown`` and ``stored`` translate between what clients write and what is stored."""

    __slots__ = (
        "_authorizer",
        "_creation",
        "_known_bodies",
        "_namespaced",
        "_repeated_applies",
        "_version",
        "_writes_namespaces",
        "api_version",
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
        versions: Versions | None = None,
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
            kin=kin_of(resource.kind, resource.api_version),
            is_custom=served.is_custom,
            empty_lists=() if served.is_custom or served.struct is None else empty_lists_of(served.struct),
        )
        #: Type and version of what clients write; without a type anything goes.
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
        self._repeated_applies: RepeatedApplies | None = None
        self._creation: Creation | None = None
        self._known_bodies: Final = (
            KnownBodies(served.struct, resource.kind, resource.api_version)
            if served.strategy.defaults_spec_alone and served.struct is not None and not subresource
            else None
        )
        self._writes_namespaces: Final = resource.name == "namespaces" and not resource.group

    @property
    def repeated_applies(self) -> RepeatedApplies | None:
        """None where the same write may be right for one and wrong for another, or the cache may lag behind."""
        found = self._repeated_applies
        shows_the_object = self.subresource in ("", "status")
        if (
            found is None
            and shows_the_object
            and not (self.served.strategy.judges_writers or self.objects.cache.remote)
        ):
            found = self._repeated_applies = RepeatedApplies()
        return found

    # -- requests ------------------------------------------------------------------------------------------------------

    def context(self, request: Request, options: WriteOptions | DeleteOptions) -> RequestContext:
        """The facts of one request."""
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
            group_resource=self.group_resource,
        )

    def write_context(self, request: Request, options: WriteOptions) -> RequestContext:
        """As ``context``, with who owns what is written."""
        ctx = self.context(request, options)
        ctx.field_manager = field_manager_of(request, options)
        return ctx

    def authorize_create(self, request: Request) -> None:
        """Of an update that would create. Raises 403 when the caller may not."""
        wanted = _with_verb(request.info, "create")
        decision = self._authorizer.authorize(request.user, wanted)
        if not decision.allowed:
            raise refusal(request.user, wanted, decision.reason)

    def decide(self, request: Request, verb: str) -> Decision:
        """Return the authorizer's decision on another verb for the same object."""
        return self._authorizer.authorize(request.user, _with_verb(request.info, verb))

    def render(self, request: Request, entry: Entry, *, form: Form, code: int = 200) -> Awaitable[Response]:
        """What was stored, as the answer."""
        return render_object(self.served, request, entry, form=form, code=code)

    # -- objects -------------------------------------------------------------------------------------------------------

    def shown(self, old: Tree) -> Tree:
        """What is stored, as the client sees it: to be patched, so nothing of it is shared with ``old``."""
        copy: Tree = copy_tree(old)
        return copy if self.served.from_storage is None else self.served.from_storage(copy)

    def live(self, old: Tree) -> Tree:
        """What is stored, as the client sees it, to be read only."""
        return old if self.served.from_storage is None else self.shown(old)

    def read_new(
        self, raw: bytes, media_type: str, options: WriteOptions, ctx: RequestContext
    ) -> tuple[Tree, KnownSpec | None]:
        """The object of a body, with its defaults, and what stands for its spec, if that is known. Raises 400."""
        known = self._known_bodies if media_type == JSON else None
        if known is None:
            tree = self.decoder.decode(raw, media_type, options, ctx.warn)
            self.default(tree)
            return tree, None
        found = known.read(raw)
        if found is not None:
            self.served.strategy.default_beside_spec(found[0], self._version)
            return found
        warnings = len(ctx.warnings)
        tree = self.decoder.decode(raw, media_type, options, ctx.warn)
        self.default(tree)
        if not options.lenient and len(ctx.warnings) == warnings:
            known.learn(raw, tree)
        return tree, None

    def default(self, tree: Tree) -> None:
        """Fill in what the client left out."""
        self.served.strategy.default(tree, self._version)

    def own(self, ctx: RequestContext, tree: Tree, old: Tree | None, known_spec: KnownSpec | None = None) -> None:
        """Say who owns what (``managedFields``) after a write of ``tree``, in the client's version, over ``old``.

        ``known_spec`` stands for the spec of a new object, with its defaults and without any change since.
        """
        if self.struct is None:
            return
        metadata = tree["metadata"]
        if not self.served.strategy.keeps_owners:
            metadata.pop("managedFields", None)
            return
        if old is None and not self.subresource and metadata.get("managedFields") is None:
            metadata.pop("managedFields", None)
            own_new(
                tree,
                self._creation or self._new_creation(self.struct),
                manager=ctx.field_manager,
                api_version=self.api_version,
                time=time_text(ctx.now),
                known_spec=known_spec,
            )
            return
        own_update(
            None if old is None else self.live(old),
            tree,
            struct=self.struct,
            manager=ctx.field_manager,
            api_version=self.api_version,
            time=time_text(ctx.now),
            subresource=self.subresource,
            reset_fields=self.reset_fields,
            versions=self.versions,
        )

    def _new_creation(self, struct: Struct) -> Creation:
        found = self._creation = creation_of(struct, filter_of(self.reset_fields))
        return found

    async def stored(self, ctx: RequestContext, tree: Tree, old: Tree | None, options: WriteOptions, name: str) -> Tree:
        """What the client wrote, as it is to be stored: converted, and changed by admission. Raises what that refuses."""
        tree = self.converted(tree)
        steps = self.create_steps if old is None else self.update_steps
        if steps.admit:
            await steps.mutate(self.attributes(ctx, tree, old, options, name))
            dedupe_owner_references(tree["metadata"], ctx.warn, after_admission=True)
        return tree

    def converted(self, tree: Tree) -> Tree:
        """What the client wrote, as far as that is another in the storage version."""
        if self.decoder.empty_lists:
            drop_empty_lists(tree, self.decoder.empty_lists)
        return tree if self.served.to_storage is None else self.served.to_storage(tree)

    def attributes(
        self, ctx: RequestContext, tree: Tree, old: Tree | None, options: WriteOptions, name: str
    ) -> Attributes:
        """A create or an update, as admission sees it."""
        return Attributes(
            Operation.CREATE if old is None else Operation.UPDATE,
            self.served,
            ctx,
            name=name,
            obj=tree,
            old_object=old,
            subresource=self.subresource,
            options=options,
            namespace=name if self._writes_namespaces else None,
        )

    def delete_attributes(self, ctx: RequestContext, old: Tree, options: DeleteOptions, name: str) -> Attributes:
        """A delete, as admission sees it."""
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
    """The versions of one resource, as ownership asks for them (``Versions`` of managed fields)."""

    __slots__ = ("_others", "_served")

    def __init__(self, served: ServedResource, others: Mapping[str, ServedResource]) -> None:
        self._served: Final = served
        self._others: Final = others

    def struct(self, api_version: str) -> Struct:
        """The kind's type in a version."""
        other = self._others.get(api_version)
        if other is None or other.struct is None:
            raise UnknownVersionError(api_version)
        return other.struct

    def convert(self, tree: Tree, api_version: str) -> Tree:
        """An object, which is not changed, in another version."""
        source = self._others.get(tree.get("apiVersion", ""), self._served)
        target = self._others.get(api_version)
        if target is None:
            raise UnknownVersionError(api_version)
        copy: Tree = copy_tree({"metadata": {}, **tree})
        if source.to_storage is not None:
            copy = source.to_storage(copy)
        return copy if target.from_storage is None else target.from_storage(copy)
