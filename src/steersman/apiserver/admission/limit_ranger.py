"""``LimitRanger``: default limits and requests, and bounds, from the LimitRanges of a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.kinds.shared.podspec.resources import pod_totals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

    Amounts = Mapping[str, Quantity]

ANNOTATION: Final = "kubernetes.io/limit-ranger"
_CONTAINERS: Final = (("containers", "container"), ("initContainers", "init container"))
_HANDLED: Final = frozenset(
    {
        ("pods", "", Operation.CREATE),
        ("pods", "resize", Operation.UPDATE),
        ("persistentvolumeclaims", "", Operation.CREATE),
        ("persistentvolumeclaims", "", Operation.UPDATE),
    }
)


class LimitRanger(Plugin):
    """LimitRanges of a namespace; all of them apply."""

    name: ClassVar[str] = "LimitRanger"

    def __init__(self, limit_ranges: WatchCache) -> None:
        self._ranges: Final = Lookup(limit_ranges, whole)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and resizes of pods, and for volume claims."""
        return (resource.group_resource, subresource, operation) in _HANDLED

    def skip_while_empty(self) -> Lookup[Any]:
        """Return the LimitRanges."""
        return self._ranges

    async def admit(self, attributes: Attributes) -> None:
        """Set the default requests and limits of containers."""
        pod = attributes.object
        if pod is None or attributes.group_resource != "pods" or _is_terminating(attributes.old_object):
            return
        for limit_range in await self._ranges.all(namespace=attributes.namespace):
            fill_in(pod, limit_range)

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 for violated bounds."""
        obj = attributes.object
        if obj is None or _is_terminating(attributes.old_object):
            return
        violations = pod_violations if attributes.group_resource == "pods" else claim_violations
        for limit_range in await self._ranges.all(namespace=attributes.namespace):
            messages = list(dict.fromkeys(violations(obj, limit_range)))
            if messages:
                raise attributes.forbidden(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")


def _is_terminating(old: Tree | None) -> bool:
    return old is not None and bool(old["metadata"].get("deletionTimestamp"))


def _items(limit_range: Tree, kind: str) -> Iterator[Tree]:
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") == kind:
            yield item


# -- defaults ---------------------------------------------------------------------------------------------------------


def fill_in(pod: Tree, limit_range: Tree) -> None:
    """Set missing limits and requests of containers, and record them in an annotation."""
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    for item in _items(limit_range, "Container"):
        limits |= item.get("default") or {}
        requests |= item.get("defaultRequest") or {}
    defaulted = [
        text
        for kind, title in _CONTAINERS
        for container in pod["spec"].get(kind) or ()
        for text in _complete(container, title, requests=requests, limits=limits)
    ]
    if defaulted:
        metadata = pod["metadata"]
        metadata["annotations"] = {
            **(metadata.get("annotations") or {}),
            ANNOTATION: f"LimitRanger plugin set: {'; '.join(defaulted)}",
        }


def _complete(container: Tree, title: str, *, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    resources = dict(container.get("resources") or {})
    for kind, word, defaults in (("requests", "request", requests), ("limits", "limit", limits)):
        amounts_of_kind = resources.get(kind) or {}
        added = sorted(name for name in defaults if name not in amounts_of_kind)
        if added:
            resources[kind] = {**amounts_of_kind, **{name: defaults[name] for name in added}}
            yield f"{', '.join(added)} {word} for {title} {container.get('name', '')}"
    if resources:
        container["resources"] = resources


# -- bounds -----------------------------------------------------------------------------------------------------------


def pod_violations(pod: Tree, limit_range: Tree) -> Iterator[str]:
    """Yield the violated bounds of a pod, by container and in total."""
    spec = pod["spec"]
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") == "Container":
            for kind, _ in _CONTAINERS:
                for container in spec.get(kind) or ():
                    resources = container.get("resources") or {}
                    yield from _violations(item, _read(resources.get("requests")), _read(resources.get("limits")))
        elif item.get("type") == "Pod":
            totals = (pod_totals(spec, kind, with_overhead=False) for kind in ("requests", "limits"))
            yield from _violations(item, *totals)


def claim_violations(claim: Tree, limit_range: Tree) -> Iterator[str]:
    """Yield the violated bounds of a volume claim."""
    requests = _read(((claim.get("spec") or {}).get("resources") or {}).get("requests"))
    for item in _items(limit_range, "PersistentVolumeClaim"):
        for name, bound in sorted(_read(item.get("min")).items()):
            yield from _below_minimum(name, bound, requests, {}, item)
        for name, bound in sorted(_read(item.get("max")).items()):
            rule = f"maximum {name} usage per {item['type']} is {bound}"
            amount = requests.get(name)
            if amount is None:
                yield f"{rule}.  No request is specified"
            elif amount > bound:
                yield f"{rule}, but request is {amount}"


def _violations(item: Tree, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, bound in sorted(_read(item.get("min")).items()):
        yield from _below_minimum(name, bound, requests, limits, item)
    for name, bound in sorted(_read(item.get("max")).items()):
        yield from _above_maximum(name, bound, requests, limits, item)
    for name, bound in sorted(_read(item.get("maxLimitRequestRatio")).items()):
        yield from _ratio_exceeded(name, bound, requests, limits, item)


def _below_minimum(name: str, bound: Quantity, requests: Amounts, limits: Amounts, item: Tree) -> Iterator[str]:
    rule = f"minimum {name} usage per {item['type']} is {bound}"
    request, limit = requests.get(name), limits.get(name)
    if request is None:
        yield f"{rule}.  No request is specified"
    elif request < bound:
        yield f"{rule}, but request is {request}"
    elif limit is not None and limit < bound:
        yield f"{rule}, but limit is {limit}"


def _above_maximum(name: str, bound: Quantity, requests: Amounts, limits: Amounts, item: Tree) -> Iterator[str]:
    rule = f"maximum {name} usage per {item['type']} is {bound}"
    request, limit = requests.get(name), limits.get(name)
    if limit is None:
        yield f"{rule}.  No limit is specified"
    elif limit > bound:
        yield f"{rule}, but limit is {limit}"
    elif request is not None and request > bound:
        yield f"{rule}, but request is {request}"


def _ratio_exceeded(name: str, bound: Quantity, requests: Amounts, limits: Amounts, item: Tree) -> Iterator[str]:
    """Yield a violation of the maximum ratio between limit and request."""
    rule = f"{name} max limit to request ratio per {item['type']} is {bound}"
    request, limit = requests.get(name), limits.get(name)
    if not request:
        yield f"{rule}, but no request is specified or request is 0"
    elif not limit:
        yield f"{rule}, but no limit is specified or limit is 0"
    elif limit.nanos * 1000 > bound.milli * request.nanos:
        yield f"{rule}, but provided ratio is {limit.nanos / request.nanos:.6f}"


def _read(amounts: Mapping[str, str] | None) -> dict[str, Quantity]:
    return {name: parse(amount) for name, amount in (amounts or {}).items()}
