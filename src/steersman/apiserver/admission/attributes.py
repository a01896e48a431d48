"""Attributes of one write for admission plugins."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from steersman.apimachinery.errors import StatusError, forbidden

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.options import DeleteOptions, WriteOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.request import RequestContext, UserInfo
    from steersman.schema.resources import Resource


class Operation(StrEnum):
    """Operation of a write; the values of ``AdmissionReview.request.operation``."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class Attributes:
    """Attributes of one write. Upstream: ``admission.Attributes``."""

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
        #: Resource in the version of the request.
        self.served = served
        self.ctx = ctx
        #: Name; empty for a create with ``generateName``, and for each object of a deletecollection.
        self.name = name
        #: Namespace; of a Namespace its own name, as upstream.
        self.namespace: str = ctx.namespace if namespace is None else namespace
        #: Object to be stored, in the storage version; of a subresource with its own kind, an object of that kind.
        #: Mutating plugins change it in place. None for deletes.
        self.object = obj
        #: Stored object, in the storage version; read-only. None for creates.
        self.old_object = old_object
        self.subresource = subresource
        self.options = options

    @property
    def resource(self) -> Resource:
        """Resource in the version of the request."""
        return self.served.resource

    @property
    def group_resource(self) -> str:
        """Group resource, e.g. ``pods``, ``deployments.apps``."""
        return self.served.group_resource

    @property
    def dry_run(self) -> bool:
        """True if nothing will be stored: plugins must not have side effects."""
        return self.ctx.dry_run

    @property
    def user(self) -> UserInfo:
        """User of the request."""
        return self.ctx.user

    def forbidden(self, message: str) -> StatusError:
        """Return a 403 for the resource and the object's name. Upstream: ``admission.NewForbidden``."""
        name = self.name
        if not name:
            metadata = {} if self.object is None else self.object["metadata"]
            name = metadata.get("name") or metadata.get("generateName") or "Unknown"
        return forbidden(self.group_resource, name, message)
