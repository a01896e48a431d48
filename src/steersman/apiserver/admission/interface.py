"""What a plugin is, and what it is told of a write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steersman.apiserver.admission.attributes import Attributes, Operation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from steersman.apiserver.admission.lookups import Lookup
    from steersman.schema.resources import Resource

#: ``attributes`` is a module of its own because it is compiled, which plugins cannot extend (decision 0006).
__all__ = ["Attributes", "Operation", "Plugin", "plugins_that"]


class Plugin:
    """A plugin; it mutates when it overrides ``admit``, and validates when it overrides ``validate``."""

    #: As in ``--enable-admission-plugins``.
    name: ClassVar[str]

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Whether writes of this kind concern the plugin. Asked once for each combination."""
        raise NotImplementedError

    def goes_by(self) -> Lookup[Any] | None:
        """What the plugin goes by: while there is none of it the plugin is not asked (most clusters have no policies).

        None for a plugin that always has something to do.
        """
        return None

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Change ``attributes.object``, or refuse. Returns what there is to wait for; most writes wait for nothing."""

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Look at ``attributes.object`` as it will be stored, and refuse or not; returns as ``admit``."""


def plugins_that(method: str, plugins: Sequence[Plugin]) -> tuple[Plugin, ...]:
    """Those that override ``admit`` or ``validate``."""
    return tuple(plugin for plugin in plugins if getattr(type(plugin), method) is not getattr(Plugin, method))
