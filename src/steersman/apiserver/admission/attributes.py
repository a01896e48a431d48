"""Attributes of one write for admission plugins."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from steersman.apimachinery.errors import StatusError, forbidden
from steersman.apimachinery.trees import copy_tree

if TYPE_CHECKING:
    from collections.abc import Callable

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


class PluginReinvocation:
    """State of reinvocation of one plugin. Upstream: ``webhookReinvokeContext`` and ``policyReinvokeContext``.

    In the second run only those webhooks or policies with ``reinvocationPolicy: IfNeeded`` are invoked that were invoked
    before the object changed.
    """

    __slots__ = ("_called", "_last_output", "_pending")

    def __init__(self) -> None:
        self._called: set[str] = set()
        self._pending: set[str] = set()
        self._last_output: Tree | None = None

    def note_called(self, key: str) -> None:
        """Record the invocation of a webhook or policy that may be invoked again."""
        self._called.add(key)

    def require_called(self) -> None:
        """Mark those invoked so far as due in the second run."""
        self._pending |= self._called
        self._called.clear()

    def begin_second_run(self, obj: Tree | None) -> None:
        """Compare the object with the last output of the plugin; in-tree plugins may have changed it since."""
        if obj != self._last_output:
            self.require_called()

    def finish(self, obj: Tree | None) -> None:
        """Record the output of the plugin."""
        self._last_output = copy_tree(obj)

    def is_due(self, key: str) -> bool:
        """True if the webhook or policy is to be invoked in the second run."""
        return key in self._pending


class Reinvocation:
    """State of reinvocation of one write. Upstream: ``reinvocationContext``.

    After a webhook or a mutating policy has changed the object, all mutating plugins run once more.
    """

    __slots__ = ("_plugins", "is_reinvoke", "is_required")

    def __init__(self) -> None:
        #: True in the second run.
        self.is_reinvoke = False
        self.is_required = False
        self._plugins: dict[str, PluginReinvocation] = {}

    def of_plugin(self, name: str) -> PluginReinvocation:
        """Return the state of a plugin."""
        state = self._plugins.get(name)
        if state is None:
            state = self._plugins[name] = PluginReinvocation()
        return state


class Attributes:
    """Attributes of one write. Upstream: ``admission.Attributes``."""

    __slots__ = (
        "_decode",
        "_object",
        "_old_object",
        "_reinvocation",
        "ctx",
        "name",
        "namespace",
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
        decode: Callable[[], Tree] | None = None,
    ) -> None:
        """``decode`` returns the stored object, for an update without changes: it is decoded when a plugin reads it."""
        self.operation = operation
        #: Resource in the version of the request.
        self.served = served
        self.ctx = ctx
        #: Name; empty for a create with ``generateName``, and for each object of a deletecollection.
        self.name = name
        #: Namespace; of a Namespace its own name, as upstream.
        self.namespace: str = ctx.namespace if namespace is None else namespace
        self._object = obj
        self._old_object = old_object
        self._decode = decode
        self.subresource = subresource
        self.options = options
        self._reinvocation: Reinvocation | None = None

    @property
    def object(self) -> Tree | None:
        """Object to be stored; None for deletes. Mutating plugins change it in place.

        It is in the storage version, or in the version of the request if the resource has a ``converter``. For a
        subresource with its own kind it is an object of that kind.
        """
        if self._object is None and self._decode is not None:
            self._object = self._decode()
        return self._object

    @property
    def old_object(self) -> Tree | None:
        """Stored object, in the same version; read-only. None for creates."""
        if self._old_object is None and self._decode is not None:
            self._old_object = self._decode()
        return self._old_object

    @property
    def is_changed(self) -> bool:
        """True if a plugin has changed an object that was to stay as it is stored."""
        return self._object is not None and self._object != self.old_object

    @property
    def reinvocation(self) -> Reinvocation:
        """State of reinvocation of mutating plugins."""
        state = self._reinvocation
        if state is None:
            state = self._reinvocation = Reinvocation()
        return state

    @property
    def needs_reinvocation(self) -> bool:
        """True if a plugin requires that all mutating plugins run again."""
        state = self._reinvocation
        return state is not None and state.is_required and not state.is_reinvoke

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
