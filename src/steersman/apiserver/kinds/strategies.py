"""Finds the strategy of a kind: ``registry/<group>/<kind>.py`` holds ``<Kind>Strategy``, imported when first needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from steersman.apiserver.generic.strategy import Strategy

if TYPE_CHECKING:
    from steersman.schema.resources import Resource

_PACKAGE: Final = "steersman.apiserver.registry"


def strategy_class(resource: Resource) -> type[Strategy]:
    """The class for a resource; a plain one when the kind has no module, and so nothing special about it.

    A kind that is served by two groups has its strategy in the one that it is stored as.
    """
    name = module_name(resource)
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (f"{name}.").startswith(f"{error.name}."):
            raise
        return plain_strategy(resource)
    found: type[Strategy] = getattr(module, f"{resource.kind}Strategy")
    return found


def module_name(resource: Resource) -> str:
    """Where the strategy of a resource is looked for: ``…registry.rbac.clusterrole``."""
    group = resource.storage_api_version.rpartition("/")[0] if resource.storage_api_version else resource.group
    folder = group.partition(".")[0] or "core"
    return f"{_PACKAGE}.{folder}.{resource.kind.lower()}"


def plain_strategy(resource: Resource) -> type[Strategy]:
    """A strategy without peculiarities, for one resource."""
    return type(f"{resource.kind}Strategy", (Strategy,), {"group_resource": resource.group_resource})
