"""``PodNodeSelector``: node selectors for the pods of a namespace, from its annotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import names
from steersman.apimachinery.errors import not_found, plain_error
from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource


ANNOTATION: Final = "scheduler.alpha.kubernetes.io/node-selector"
_CONFIGURATION: Final = "podNodeSelectorPluginConfig"
_DEFAULT: Final = "clusterDefaultNodeSelector"
#: Value for a missing annotation; an empty annotation is a valid selector.
_NO_TEXT: Final = "\0"
_NOT_ALLOWED: Final = "pod node label selector labels conflict with its namespace whitelist"
_CONFLICT: Final = "pod node label selector conflicts with its namespace node label selector"


class PodNodeSelector(Plugin):
    """Node selectors of new pods."""

    name: ClassVar[str] = "PodNodeSelector"

    def __init__(self, namespaces: WatchCache, configuration: Tree | None = None) -> None:
        """``configuration``: selectors allowed by namespace, and the default for namespaces without the annotation.

        Raises ValueError.
        """
        self._selectors: Final = Lookup(namespaces, _annotation)
        cluster_selectors = (configuration or {}).get(_CONFIGURATION) or {}
        if not isinstance(cluster_selectors, dict) or not all(
            text is None or isinstance(text, str) for text in cluster_selectors.values()
        ):
            raise ValueError(f"{_CONFIGURATION}: must be a map of strings")
        self._cluster: Final = {name: parse_selector(text or "") for name, text in cluster_selectors.items()}

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates of pods."""
        return resource.group_resource == "pods" and not subresource and operation is Operation.CREATE

    async def admit(self, attributes: Attributes) -> None:
        """Merge the namespace's selector into the pod's. Raises 403 for a conflict."""
        pod = attributes.object
        if pod is None:
            return
        selector = await self._selector_of_namespace(attributes)
        own = pod["spec"].get("nodeSelector") or {}
        _check(attributes, selector, own)
        if selector:
            pod["spec"]["nodeSelector"] = {**selector, **own}

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 for a conflict with the namespace's selector."""
        if attributes.object is None:
            return
        own = attributes.object["spec"].get("nodeSelector") or {}
        _check(attributes, await self._selector_of_namespace(attributes), own)
        allowed = self._cluster.get(attributes.namespace)
        if allowed and any(allowed.get(key) != value for key, value in own.items()):
            raise attributes.forbidden(_NOT_ALLOWED)

    async def _selector_of_namespace(self, attributes: Attributes) -> dict[str, str]:
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
    """Parse ``a=b,c=d``. Raises ValueError."""
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


def _check(attributes: Attributes, selector: dict[str, str], own: dict[str, str]) -> None:
    if any(own.get(key, value) != value for key, value in selector.items()):
        raise attributes.forbidden(_CONFLICT)


def _annotation(namespace: dict[str, Any]) -> str:
    text: str = (namespace["metadata"].get("annotations") or {}).get(ANNOTATION, _NO_TEXT)
    return text
