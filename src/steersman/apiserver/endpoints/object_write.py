"""Steps of the write pipeline common to creates, updates and patches: defaults, managed fields, conversion, admission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.admission.chain import run, run_mutating
from steersman.apiserver.generic.write_pipeline import Write
from steersman.apiserver.generic.writing import dedupe_owner_references, ensure_object_namespace

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.endpoints.create_bodies import CachedSpec
    from steersman.apiserver.endpoints.request_scope import RequestScope
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.http import Request
    from steersman.apiserver.request import RequestContext


class ObjectWrite(Write):
    """Write of an object from a request body."""

    __slots__ = ("cached_spec", "options", "request", "scope")

    def __init__(
        self,
        scope: RequestScope,
        request: Request,
        ctx: RequestContext,
        options: WriteOptions,
        name: str,
        *,
        may_create: bool | None = None,
    ) -> None:
        super().__init__(scope.served.storage, ctx, name, subresource=scope.subresource, may_create=may_create)
        self.scope: Final = scope
        self.request: Final = request
        self.options: Final = options
        #: Cached spec of ``new`` if an earlier body had the same; see ``create_bodies``.
        self.cached_spec: CachedSpec | None = None

    def default(self) -> None:
        self.scope.default(self.new)

    def manage_fields(self) -> None:
        self.scope.manage_fields(self.ctx, self.new, self.old, self.cached_spec)

    def convert(self) -> None:
        self.new = self.scope.to_storage_version(self.new)

    def mutate(self) -> Awaitable[None] | None:
        scope = self.scope
        plugins = scope.create_steps.admit if self.old is None else scope.update_steps.admit
        if not plugins:
            return None
        name = self.name or self.new["metadata"].get("name") or ""
        return run_mutating(plugins, scope.mutation_attributes(self.ctx, self.new, self.old, self.options, name))

    def after_mutation(self) -> None:
        ensure_object_namespace(self.new["metadata"], self.ctx.namespace)  # a webhook may have changed it
        dedupe_owner_references(self.new["metadata"], self.ctx.warn, after_admission=True)
        self.new = self.scope.merge_into_object(self.ctx, self.new, self.old)

    def admit(self) -> Awaitable[None] | None:
        scope = self.scope
        if self.old is None and self.name:  # an update or apply that creates
            scope.authorize_create(self.request)
        plugins = scope.create_steps.validate if self.old is None else scope.update_steps.validate
        if not plugins:
            return None
        name = self.name or self.new["metadata"]["name"]
        return run(plugins, scope.validation_attributes(self.ctx, self.new, self.old, self.options, name))
