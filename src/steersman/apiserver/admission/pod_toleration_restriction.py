"""``PodTolerationRestriction``: annotations of a namespace say what its pods tolerate by default, and at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import msgspec

from steersman.apimachinery.errors import not_found, plain_error
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup
from steersman.apiserver.admission.tolerations import covers, merge_tolerations
from steersman.apiserver.kinds.shared.podspec.resources import qos_class

if TYPE_CHECKING:
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

    Tree = dict[str, Any]

DEFAULTS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/defaultTolerations"
WHITELIST_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
#: Who asked for memory may stay where memory is short.
_MEMORY_PRESSURE: Final = {
    "key": "node.kubernetes.io/memory-pressure",
    "operator": "Exists",
    "effect": "NoSchedule",
}
_CONFLICT: Final = "pod tolerations (possibly merged with namespace default tolerations) conflict with its"


class _Said(NamedTuple):
    """The annotations' texts; None when there is none."""

    defaults: str | None
    whitelist: str | None


class PodTolerationRestriction(Plugin):
    """Pods; defaults are for new ones."""

    name: ClassVar[str] = "PodTolerationRestriction"

    def __init__(self, namespaces: WatchCache, configuration: Tree | None = None) -> None:
        """``configuration``: what holds where a namespace says nothing (``podtolerationrestriction.admission.k8s.io``)."""
        self._said: Final = Lookup(namespaces, _read)
        self._defaults: Final[list[Tree]] = (configuration or {}).get("default") or []
        self._whitelist: Final[list[Tree]] = (configuration or {}).get("whitelist") or []

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Creation and change of pods."""
        is_pod = resource.group_resource == "pods" and not subresource
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, attributes: Attributes) -> None:
        """Merge the defaults in. Raises 500 when the pod tolerates more than it may, as upstream."""
        pod = attributes.object
        if pod is None:
            return
        spec = pod["spec"]
        extra: list[Tree] = []
        if attributes.operation is Operation.CREATE:
            said = (await self._of_namespace(attributes)).defaults
            extra += self._defaults if said is None else _parse(said)
        if qos_class(spec) != "BestEffort":
            extra.append(dict(_MEMORY_PRESSURE))
        if extra:
            spec["tolerations"] = merge_tolerations(spec.get("tolerations") or (), extra)
        await self.validate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Raises 500 when the pod tolerates more than it may."""
        tolerations = (attributes.object or {}).get("spec", {}).get("tolerations")
        if not tolerations:
            return
        said = (await self._of_namespace(attributes)).whitelist
        allowed = self._whitelist if said is None else _parse(said)
        if allowed and not all(any(covers(wide, one) for wide in allowed) for one in tolerations):
            raise plain_error(f"{_CONFLICT} {'cluster' if said is None else 'namespace'} whitelist")

    async def _of_namespace(self, attributes: Attributes) -> _Said:
        said = await self._said.get(attributes.namespace)
        if said is None:
            raise not_found("namespaces", attributes.namespace)
        return said


def _read(namespace: Tree) -> _Said:
    annotations = namespace["metadata"].get("annotations") or {}
    return _Said(annotations.get(DEFAULTS_ANNOTATION), annotations.get(WHITELIST_ANNOTATION))


def _parse(text: str) -> list[Tree]:
    try:
        return msgspec.json.decode(text, type=list[dict[str, Any]]) if text else []
    except msgspec.MsgspecError as error:
        raise plain_error(f"the namespace's tolerations cannot be read: {error}") from None
