"""``status.allocation`` of a claim, built from chosen devices and read back."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.models.resource_v1 import AllocationResult

from steersman.apimachinery.quantity import parse
from steersman.scheduler.devices.capacity import CapacityAmounts, as_quantities
from steersman.scheduler.devices.pools import DeviceID

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.scheduler.devices.allocator import Choice


def allocation(
    claim: Any, choices: Sequence[Choice], node: str, classes: Mapping[str, Any], *, dice: random.Random
) -> AllocationResult:
    """Build an AllocationResult: devices, driver configuration and node selector."""
    devices: Tree = {"results": [_result(choice, dice) for choice in choices]}
    config = [*_of_classes(choices, classes), *_of_claim(claim, choices)]
    if config:
        devices["config"] = config
    tree: Tree = {"devices": devices}
    selector = node_selector(choices, node)
    if selector is not None:
        tree["nodeSelector"] = selector
    return msgspec.convert(tree, AllocationResult)


def _result(choice: Choice, dice: random.Random) -> Tree:
    device, request = choice.device, choice.request
    result: Tree = {"request": request.name, **device.id._asdict()}
    if request.is_admin:
        result["adminAccess"] = True
    if request.tolerations:
        result["tolerations"] = msgspec.to_builtins(request.tolerations)
    if choice.consumed is not None:
        result["shareID"] = str(uuid.UUID(int=dice.getrandbits(128), version=4))
        result["consumedCapacity"] = as_quantities(device, choice.consumed)
    for name in ("bindingConditions", "bindingFailureConditions"):
        conditions = getattr(device.spec, name)
        if conditions:
            result[name] = list(conditions)
    return result


def _of_classes(choices: Sequence[Choice], classes: Mapping[str, Any]) -> Iterator[Tree]:
    requests: dict[str, dict[str, None]] = {}
    for choice in choices:
        requests.setdefault(choice.request.class_name, {})[choice.request.name] = None
    for name, own in requests.items():
        for config in classes[name].spec.config or ():
            yield {"source": "FromClass", "requests": list(own), **msgspec.to_builtins(config)}


def _of_claim(claim: Any, choices: Sequence[Choice]) -> Iterator[Tree]:
    """Yield the claim's configuration, except for subrequests that were not chosen."""
    chosen = {choice.request.name for choice in choices} | {choice.request.name.partition("/")[0] for choice in choices}
    for config in claim.spec.devices.config or ():
        if not config.requests or chosen & set(config.requests):
            yield {"source": "FromClaim", **msgspec.to_builtins(config)}


def node_selector(choices: Sequence[Choice], node: str) -> Tree | None:
    """Return the selector of nodes that reach all devices; None for every node."""
    fields: list[Tree] = []
    expressions: list[Tree] = []
    for choice in choices:
        place = choice.device.place
        if place.node_name or choice.device.binds_to_node:
            named = {"key": "metadata.name", "operator": "In", "values": [place.node_name or node]}
            return {"nodeSelectorTerms": [{"matchFields": [named]}]}
        # The node selector of a slice has exactly one term.
        for term in place.selector.nodeSelectorTerms if place.selector is not None else ():
            spec = msgspec.to_builtins(term)
            fields += [match_field for match_field in spec.get("matchFields", ()) if match_field not in fields]
            expressions += [
                match_expression
                for match_expression in spec.get("matchExpressions", ())
                if match_expression not in expressions
            ]
    term = {"matchExpressions": expressions} if expressions else {}
    term |= {"matchFields": fields} if fields else {}
    return {"nodeSelectorTerms": [term]} if term else None


def held_devices(allocation: Any) -> Iterator[tuple[DeviceID, CapacityAmounts]]:
    """Yield the devices that an allocation holds, with consumed capacity; admin access holds none."""
    for result in (allocation.devices.results if allocation.devices is not None else None) or ():
        if not result.adminAccess:
            consumed = {name: parse(str(value)).nanos for name, value in (result.consumedCapacity or {}).items()}
            yield DeviceID(result.driver, result.pool, result.device), consumed
