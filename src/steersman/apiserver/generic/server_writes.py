"""Writes of the server itself: created objects and changes without a request body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.generic.write_pipeline import Write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.store import ObjectStore
    from steersman.apiserver.request import RequestContext

    #: Takes the new object and the stored one (None: a create), both in the storage version; returns an awaitable or None.
    Validate = Callable[[Tree, Tree | None], Awaitable[None] | None]
    #: Takes the stored object (None if absent) and returns the changed one, a new tree; called again after each conflict.
    Transform = Callable[[Tree | None], Awaitable[Tree]]


class Change(msgspec.Struct, frozen=True):
    """A change of the server itself."""

    transform: Transform
    #: Validating admission of the change.
    validate: Validate | None = None
    subresource: str = ""
    #: Precondition: uid of the object; empty: any.
    uid: str = ""


class ServerCreate(Write):
    """Create of an object built by the server, in the storage version."""

    __slots__ = ("_validate",)

    def __init__(self, objects: ObjectStore, ctx: RequestContext, tree: Tree, validate: Validate | None) -> None:
        super().__init__(objects, ctx, "")
        self.new = tree
        self._validate: Final = validate

    def admit(self) -> Awaitable[None] | None:
        return None if self._validate is None else self._validate(self.new, None)


class ServerUpdate(Write):
    """Change by a function, which replaces all steps before ``identify``."""

    __slots__ = ("_change",)

    def __init__(self, objects: ObjectStore, ctx: RequestContext, name: str, change: Change) -> None:
        super().__init__(objects, ctx, name, subresource=change.subresource, uid=change.uid)
        self._change: Final = change

    async def mutate(self) -> None:
        self.new = await self._change.transform(self.old)

    def admit(self) -> Awaitable[None] | None:
        validate = self._change.validate
        return None if validate is None else validate(self.new, self.old)
