"""``DefaultIngressClass``: sets the default class of Ingresses without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.admission.defaulting import Candidate, newest_default
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup

if TYPE_CHECKING:
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

_DEFAULT_ANNOTATION: Final = "ingressclass.kubernetes.io/is-default-class"
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"


class DefaultIngressClass(Plugin):
    """Default class of new Ingresses; the legacy annotation also selects a class."""

    name: ClassVar[str] = "DefaultIngressClass"

    def __init__(self, ingress_classes: WatchCache) -> None:
        self._classes: Final = Lookup(ingress_classes, _read)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates of Ingresses."""
        is_ingress = resource.group_resource == "ingresses.networking.k8s.io" and not subresource
        return is_ingress and operation is Operation.CREATE

    async def admit(self, attributes: Attributes) -> None:
        """Set the newest default class; among equally old ones the first by name."""
        ingress = attributes.object
        if ingress is None or ingress["spec"].get("ingressClassName") is not None:
            return
        if _CLASS_ANNOTATION in (ingress["metadata"].get("annotations") or {}):
            return
        name = newest_default(await self._classes.all())
        if name is not None:
            ingress["spec"]["ingressClassName"] = name


def _read(tree: dict[str, Any]) -> Candidate:
    return Candidate.of(tree, _DEFAULT_ANNOTATION)
