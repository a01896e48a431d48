"""``PodTolerationRestriction``: default and allowed tolerations of a namespace's pods, from its annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import msgspec

from steersman.apimachinery.errors import not_found, plain_error
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup
from steersman.apiserver.admission.tolerations import covers, merge_tolerations
from steersman.apiserver.kinds.shared.podspec.resources import qos_class

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource


DEFAULTS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/defaultTolerations"
WHITELIST_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
#: Toleration of pods that are not BestEffort.
_MEMORY_PRESSURE: Final = {
    "key": "node.kubernetes.io/memory-pressure",
    "operator": "Exists",
    "effect": "NoSchedule",
}
_CONFLICT: Final = "pod tolerations (possibly merged with namespace default tolerations) conflict with its"


class _NamespaceTolerations(NamedTuple):
    """Values of the annotations; None if missing."""

    defaults: str | None
    whitelist: str | None


class PodTolerationRestriction(Plugin):
    """Tolerations of pods; defaults apply to new pods."""

    name: ClassVar[str] = "PodTolerationRestriction"

    def __init__(self, namespaces: WatchCache, configuration: Tree | None = None) -> None:
        """``configuration``: defaults for namespaces without annotations
        (``podtolerationrestriction.admission.k8s.io``).
        """
        self._namespaces: Final = Lookup(namespaces, _read)
        self._defaults: Final[list[Tree]] = (configuration or {}).get("default") or []
        self._whitelist: Final[list[Tree]] = (configuration or {}).get("whitelist") or []

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of pods."""
        is_pod = resource.group_resource == "pods" and not subresource
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, attributes: Attributes) -> None:
        """Merge the default tolerations. Raises 500 for tolerations that are not allowed, as upstream."""
        pod = attributes.object
        if pod is None:
            return
        spec = pod["spec"]
        extra: list[Tree] = []
        if attributes.operation is Operation.CREATE:
            restrictions = (await self._of_namespace(attributes)).defaults
            extra += self._defaults if restrictions is None else _parse(restrictions)
        if qos_class(spec) != "BestEffort":
            extra.append(dict(_MEMORY_PRESSURE))
        if extra:
            spec["tolerations"] = merge_tolerations(spec.get("tolerations") or (), extra)
        await self.validate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Raise 500 for tolerations that are not allowed, as upstream."""
        tolerations = (attributes.object or {}).get("spec", {}).get("tolerations")
        if not tolerations:
            return
        restrictions = (await self._of_namespace(attributes)).whitelist
        allowed = self._whitelist if restrictions is None else _parse(restrictions)
        if allowed and not all(any(covers(wide, one) for wide in allowed) for one in tolerations):
            raise plain_error(f"{_CONFLICT} {'cluster' if restrictions is None else 'namespace'} whitelist")

    async def _of_namespace(self, attributes: Attributes) -> _NamespaceTolerations:
        restrictions = await self._namespaces.get(attributes.namespace)
        if restrictions is None:
            raise not_found("namespaces", attributes.namespace)
        return restrictions


def _read(namespace: Tree) -> _NamespaceTolerations:
    annotations = namespace["metadata"].get("annotations") or {}
    return _NamespaceTolerations(annotations.get(DEFAULTS_ANNOTATION), annotations.get(WHITELIST_ANNOTATION))


def _parse(text: str) -> list[Tree]:
    try:
        return msgspec.json.decode(text, type=list[dict[str, Any]]) if text else []
    except (msgspec.MsgspecError, RecursionError) as error:
        raise plain_error(f"the namespace's tolerations cannot be read: {error}") from None
