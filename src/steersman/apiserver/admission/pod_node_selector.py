"""``PodNodeSelector``: the annotation of a namespace says on which nodes its pods may run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import names
from steersman.apimachinery.errors import not_found, plain_error
from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup

if TYPE_CHECKING:
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

    Tree = dict[str, Any]

ANNOTATION: Final = "scheduler.alpha.kubernetes.io/node-selector"
_CONFIGURATION: Final = "podNodeSelectorPluginConfig"
_DEFAULT: Final = "clusterDefaultNodeSelector"
#: No annotation; an empty one is a choice, too.
_NO_TEXT: Final = "\0"
_NOT_ALLOWED: Final = "pod node label selector labels conflict with its namespace whitelist"
_CONFLICT: Final = "pod node label selector conflicts with its namespace node label selector"


class PodNodeSelector(Plugin):
    """Pods that are created."""

    name: ClassVar[str] = "PodNodeSelector"

    def __init__(self, namespaces: WatchCache, configuration: Tree | None = None) -> None:
        """``configuration``: the labels that pods of a namespace are limited to, and what holds without an annotation.

        Raises ValueError.
        """
        self._selectors: Final = Lookup(namespaces, _annotation)
        said = (configuration or {}).get(_CONFIGURATION) or {}
        self._cluster: Final = {name: parse_selector(text) for name, text in said.items()}

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Creation of pods."""
        return resource.group_resource == "pods" and not subresource and operation is Operation.CREATE

    async def admit(self, attributes: Attributes) -> None:
        """Merge the namespace's labels into the pod's selector. Raises 403 where they differ."""
        pod = attributes.object
        if pod is None:
            return
        wanted = await self._wanted(attributes)
        own = pod["spec"].get("nodeSelector") or {}
        _check(attributes, wanted, own)
        if wanted:
            pod["spec"]["nodeSelector"] = {**wanted, **own}

    async def validate(self, attributes: Attributes) -> None:
        """Raises 403 where the pod's selector differs from the namespace's."""
        if attributes.object is None:
            return
        own = attributes.object["spec"].get("nodeSelector") or {}
        _check(attributes, await self._wanted(attributes), own)
        allowed = self._cluster.get(attributes.namespace)
        if allowed and any(allowed.get(key) != value for key, value in own.items()):
            raise attributes.forbidden(_NOT_ALLOWED)

    async def _wanted(self, attributes: Attributes) -> dict[str, str]:
        text = await self._selectors.get(attributes.namespace)
        if text is None:
            raise not_found("namespaces", attributes.namespace)
        if text == _NO_TEXT:
            return self._cluster.get(_DEFAULT, {})
        try:
            return parse_selector(text)
        except ValueError as error:
            raise plain_error(str(error)) from None


def parse_selector(text: str) -> dict[str, str]:
    """The labels of ``a=b,c=d``. Raises ValueError."""
    labels: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, *values = part.split("=")
        if len(values) != 1:
            raise ValueError(f"invalid selector: [{' '.join([key, *values])}]")
        key, value = key.strip(), values[0].strip()
        if faults := names.check_qualified_name(key):
            raise ValueError(f"invalid label key {quote(key)}: {'; '.join(faults)}")
        if faults := names.check_label_value(value):
            raise ValueError(f"invalid label value: {quote(value)}: at key: {quote(key)}: {'; '.join(faults)}")
        labels[key] = value
    return labels


def _check(attributes: Attributes, wanted: dict[str, str], own: dict[str, str]) -> None:
    if any(own.get(key, value) != value for key, value in wanted.items()):
        raise attributes.forbidden(_CONFLICT)


def _annotation(namespace: dict[str, Any]) -> str:
    text: str = (namespace["metadata"].get("annotations") or {}).get(ANNOTATION, _NO_TEXT)
    return text
