"""Which resources exist: the built-in table (generated) and the shape that custom ones share."""

from __future__ import annotations

import msgspec


class Subresource(msgspec.Struct, frozen=True):
    """``status``, ``scale``, ``binding``, … of a resource."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    #: Of the subresource's own kind, where it is not the parent's (``autoscaling``, ``policy``, …).
    group: str = ""
    version: str = ""


class Resource(msgspec.Struct, frozen=True):
    """One resource in one version, as discovery describes it."""

    group: str
    version: str
    #: Plural, lower case: ``pods``.
    name: str
    kind: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    #: Name of the schema definition, ``io.k8s.api.core.v1.Pod``; empty for custom resources.
    definition: str = ""

    @property
    def api_version(self) -> str:
        """As objects carry it: ``v1``, ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """As messages name it: ``pods``, ``deployments.apps``."""
        return f"{self.name}.{self.group}" if self.group else self.name
