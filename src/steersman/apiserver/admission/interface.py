"""Interface of admission plugins. Upstream: staging/src/k8s.io/apiserver/pkg/admission/interfaces.go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steersman.apiserver.admission.attributes import Attributes, Operation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from steersman.apiserver.admission.lookups import Lookup
    from steersman.schema.resources import Resource

#: ``attributes`` is a module of its own because it is compiled, which plugins cannot extend (decision 0006).
__all__ = ["Attributes", "Operation", "Plugin", "plugins_overriding"]


class Plugin:
    """Admission plugin; it mutates if it overrides ``admit``, and validates if it overrides ``validate``."""

    #: Name in ``--enable-admission-plugins``.
    name: ClassVar[str]

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True if the plugin handles these writes. Called once per combination."""
        raise NotImplementedError

    def skip_while_empty(self) -> Lookup[Any] | None:
        """Return the lookup without whose objects the plugin has no effect and is skipped; None: never skip."""
        return None

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Mutate ``attributes.object`` or raise. Return an awaitable for the rest, or None if done, as most writes are."""

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Validate ``attributes.object`` as it will be stored; raise to reject it. Return as ``admit``."""


def plugins_overriding(method: str, plugins: Sequence[Plugin]) -> tuple[Plugin, ...]:
    """Return the plugins that override ``admit`` or ``validate``."""
    return tuple(plugin for plugin in plugins if getattr(type(plugin), method) is not getattr(Plugin, method))
