"""``RuntimeClass``: overhead and scheduling of a pod's RuntimeClass."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apimachinery.quantity import parse
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.admission.tolerations import merge_tolerations

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource


_DIFFERS: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClass(Plugin):
    """Overhead, node selector and tolerations of new pods."""

    name: ClassVar[str] = "RuntimeClass"

    def __init__(self, runtime_classes: WatchCache) -> None:
        self._classes: Final = Lookup(runtime_classes, whole)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates of pods."""
        return resource.group_resource == "pods" and not subresource and operation is Operation.CREATE

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Apply the class. Raises 403 for an unknown class, and for a conflicting overhead or node selector."""
        if attributes.object is None:
            return None
        spec = attributes.object["spec"]
        return None if spec.get("runtimeClassName") is None else self._fill_in(attributes, spec)

    async def _fill_in(self, attributes: Attributes, spec: Tree) -> None:
        runtime_class = await self._class(attributes, spec)
        overhead = _overhead(runtime_class)
        if overhead is not None:
            if spec.get("overhead") and not _same_amounts(spec["overhead"], overhead):
                raise attributes.forbidden(_DIFFERS)
            spec["overhead"] = dict(overhead)
        scheduling = (runtime_class or {}).get("scheduling")
        if scheduling is not None:
            _add_scheduling(attributes, spec, scheduling)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise 403 if the overhead differs from the class's."""
        if attributes.object is None:
            return None
        spec = attributes.object["spec"]
        if spec.get("runtimeClassName") is None and spec.get("overhead") is None:
            return None
        return self._check(attributes, spec)

    async def _check(self, attributes: Attributes, spec: Tree) -> None:
        overhead = _overhead(await self._class(attributes, spec))
        if overhead is None:
            if spec.get("overhead") is not None:
                raise attributes.forbidden(
                    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                )
        elif not _same_amounts(spec.get("overhead") or {}, overhead):
            raise attributes.forbidden(_DIFFERS)

    async def _class(self, attributes: Attributes, spec: Tree) -> Tree | None:
        name = spec.get("runtimeClassName")
        if name is None:
            return None
        runtime_class = await self._classes.get(name)
        if runtime_class is None:
            raise attributes.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
        return runtime_class


def _overhead(runtime_class: Tree | None) -> Tree | None:
    overhead = (runtime_class or {}).get("overhead")
    return None if overhead is None else overhead.get("podFixed") or {}


def _same_amounts(one: Tree, other: Tree) -> bool:
    return one.keys() == other.keys() and all(parse(amount) == parse(other[name]) for name, amount in one.items())


def _add_scheduling(attributes: Attributes, spec: Tree, scheduling: Tree) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.setdefault(key, value) != value:
            raise attributes.forbidden(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
    if selector:
        spec["nodeSelector"] = selector
    tolerations = merge_tolerations(spec.get("tolerations") or (), scheduling.get("tolerations") or ())
    if tolerations:
        spec["tolerations"] = tolerations
