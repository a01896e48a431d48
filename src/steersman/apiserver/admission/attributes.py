"""One write, as admission plugins see it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from steersman.apimachinery.errors import StatusError, forbidden

if TYPE_CHECKING:
    from steersman.apiserver.generic.options import DeleteOptions, WriteOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.request import RequestContext, UserInfo
    from steersman.schema.resources import Resource

    Tree = dict[str, Any]


class Operation(StrEnum):
    """What a write does; the values are those of ``AdmissionReview.request.operation``."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class Attributes:
    """One write, as plugins see it (``admission.Attributes`` upstream)."""

    __slots__ = (
        "ctx",
        "name",
        "namespace",
        "object",
        "old_object",
        "operation",
        "options",
        "served",
        "subresource",
    )

    def __init__(
        self,
        operation: Operation,
        served: ServedResource,
        ctx: RequestContext,
        *,
        name: str,
        obj: Tree | None,
        old_object: Tree | None = None,
        subresource: str = "",
        options: WriteOptions | DeleteOptions | None = None,
        namespace: str | None = None,
    ) -> None:
        self.operation = operation
        #: The resource written, in the version that the client speaks.
        self.served = served
        self.ctx = ctx
        #: Empty for a create whose name is still to be made up, and for each object of a deletecollection.
        self.name = name
        #: Of a Namespace its own name, as upstream.
        self.namespace = ctx.namespace if namespace is None else namespace
        #: What is to be stored, in the storage version; a subresource of another kind: that kind's object.
        #: Mutating plugins change it in place. None for deletes.
        self.object = obj
        #: What is stored, in the storage version; not to be changed. None for creates.
        self.old_object = old_object
        self.subresource = subresource
        self.options = options

    @property
    def resource(self) -> Resource:
        """The resource written, in the version that the client speaks."""
        return self.served.resource

    @property
    def group_resource(self) -> str:
        """``pods``, ``deployments.apps``."""
        return self.served.group_resource

    @property
    def dry_run(self) -> bool:
        """Nothing will be stored: plugins must not have lasting effects."""
        return self.ctx.dry_run

    @property
    def user(self) -> UserInfo:
        """Who asks."""
        return self.ctx.user

    def forbidden(self, why: str) -> StatusError:
        """403 as plugins say it (``admission.NewForbidden``): of the resource and the object's name."""
        name = self.name
        if not name:
            metadata = {} if self.object is None else self.object["metadata"]
            name = metadata.get("name") or metadata.get("generateName") or "Unknown"
        return forbidden(self.group_resource, name, why)
