"""``LimitRanger``: default limits and requests, and bounds, from the LimitRanges of a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.quantity import Quantity, parse
from steersman.apimachinery.workmeter import spend
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.kinds.shared.podspec.resources import pod_totals
from steersman.apiserver.workers import run_step, with_allowance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

    Amounts = Mapping[str, Quantity]

ANNOTATION: Final = "kubernetes.io/limit-ranger"
_CONTAINERS: Final = (("containers", "container"), ("initContainers", "init container"))
_BOUNDS: Final = ("min", "max", "maxLimitRequestRatio")
_UNITS_PER_CONTAINER: Final = 4
_UNITS_PER_BOUND: Final = 6
#: LimitRanges times containers that are filled in on the event loop: about 15 ms.
_PAIRS_ON_LOOP_MAX: Final = 10_000
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
        ranges = await self._ranges.all(namespace=attributes.namespace)
        is_long = attributes.ctx.is_large or len(ranges) * len(_containers(pod)) > _PAIRS_ON_LOOP_MAX
        await run_step(_fill_in_all, is_long, pod, ranges)

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 for violated bounds."""
        obj = attributes.object
        if obj is None or _is_terminating(attributes.old_object):
            return
        violations = pod_violations if attributes.group_resource == "pods" else claim_violations
        ranges = await self._ranges.all(namespace=attributes.namespace)
        messages = await with_allowance(_of_first_violated, violations, obj, ranges)
        if messages:
            raise attributes.forbidden(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")


def _is_terminating(old: Tree | None) -> bool:
    return old is not None and bool(old["metadata"].get("deletionTimestamp"))


def _containers(pod: Tree) -> list[tuple[Tree, str]]:
    """Return containers and what messages call them."""
    spec = pod["spec"]
    return [(container, title) for kind, title in _CONTAINERS for container in spec.get(kind) or ()]


def _items(limit_range: Tree, kind: str) -> Iterator[Tree]:
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") == kind:
            yield item


# -- defaults ---------------------------------------------------------------------------------------------------------


def _fill_in_all(pod: Tree, ranges: Sequence[Tree]) -> None:
    for limit_range in ranges:
        fill_in(pod, limit_range)


def fill_in(pod: Tree, limit_range: Tree) -> None:
    """Set missing limits and requests of containers, and record them in an annotation."""
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    for item in _items(limit_range, "Container"):
        limits |= item.get("default") or {}
        requests |= item.get("defaultRequest") or {}
    defaulted = [
        text
        for container, title in _containers(pod)
        for text in _complete(container, title, requests=requests, limits=limits)
    ]
    if defaulted:
        metadata = pod["metadata"]
        metadata["annotations"] = {
            **(metadata.get("annotations") or {}),
            ANNOTATION: f"LimitRanger plugin set: {'; '.join(defaulted)}",
        }


def _complete(container: Tree, title: str, *, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    spend(_UNITS_PER_CONTAINER + len(requests) + len(limits))
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


def _of_first_violated(
    violations: Callable[[Tree, Tree], Iterator[str]], obj: Tree, ranges: Sequence[Tree]
) -> list[str]:
    """Return the distinct messages of the first violated range."""
    for limit_range in ranges:
        messages = list(dict.fromkeys(violations(obj, limit_range)))
        if messages:
            return messages
    return []


def pod_violations(pod: Tree, limit_range: Tree) -> Iterator[str]:
    """Yield the violated bounds of a pod, by container and in total."""
    totals: list[Amounts] = []
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") == "Container":
            for container, _ in _containers(pod):
                resources = container.get("resources") or {}
                yield from _violations(item, _read(resources.get("requests")), _read(resources.get("limits")))
        elif item.get("type") == "Pod":
            totals = totals or [pod_totals(pod["spec"], kind, with_overhead=False) for kind in ("requests", "limits")]
            yield from _violations(item, *totals)


def claim_violations(claim: Tree, limit_range: Tree) -> Iterator[str]:
    """Yield the violated bounds of a volume claim."""
    requests = _read(((claim.get("spec") or {}).get("resources") or {}).get("requests"))
    for item in _items(limit_range, "PersistentVolumeClaim"):
        _spend_for(item)
        for name, bound in sorted(_read(item.get("min")).items()):
            yield from _below_minimum(name, bound, requests, {}, item)
        for name, bound in sorted(_read(item.get("max")).items()):
            rule = f"maximum {name} usage per {item['type']} is {bound}"
            amount = requests.get(name)
            if amount is None:
                yield f"{rule}.  No request is specified"
            elif amount > bound:
                yield f"{rule}, but request is {amount}"


def _spend_for(item: Tree) -> None:
    spend(_UNITS_PER_CONTAINER + sum(_UNITS_PER_BOUND * len(item.get(name) or ()) for name in _BOUNDS))


def _violations(item: Tree, requests: Amounts, limits: Amounts) -> Iterator[str]:
    _spend_for(item)
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
