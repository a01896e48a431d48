"""Devices that were chosen, as a claim's ``status.allocation`` says it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.models.resource_v1 import AllocationResult

from steersman.apimachinery.quantity import parse
from steersman.scheduler.devices.capacity import Amounts, as_quantities
from steersman.scheduler.devices.pools import DeviceID

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from steersman.scheduler.devices.allocator import Choice

Tree = dict[str, Any]


def allocation(
    claim: Any, choices: Sequence[Choice], node: str, classes: Mapping[str, Any], *, dice: random.Random
) -> AllocationResult:
    """Devices, what drivers are to be told, and the nodes from which the devices can be reached."""
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
    device, want = choice.device, choice.want
    found: Tree = {"request": want.name, **device.id._asdict()}
    if want.is_admin:
        found["adminAccess"] = True
    if want.tolerations:
        found["tolerations"] = msgspec.to_builtins(want.tolerations)
    if choice.consumed is not None:
        found["shareID"] = str(uuid.UUID(int=dice.getrandbits(128), version=4))
        found["consumedCapacity"] = as_quantities(device, choice.consumed)
    for name in ("bindingConditions", "bindingFailureConditions"):
        conditions = getattr(device.said, name)
        if conditions:
            found[name] = list(conditions)
    return found


def _of_classes(choices: Sequence[Choice], classes: Mapping[str, Any]) -> Iterator[Tree]:
    requests: dict[str, dict[str, None]] = {}
    for choice in choices:
        requests.setdefault(choice.want.class_name, {})[choice.want.name] = None
    for name, own in requests.items():
        for config in classes[name].spec.config or ():
            yield {"source": "FromClass", "requests": list(own), **msgspec.to_builtins(config)}


def _of_claim(claim: Any, choices: Sequence[Choice]) -> Iterator[Tree]:
    """What concerns only alternatives that were not chosen is left out."""
    chosen = {choice.want.name for choice in choices} | {choice.want.name.partition("/")[0] for choice in choices}
    for config in claim.spec.devices.config or ():
        if not config.requests or chosen & set(config.requests):
            yield {"source": "FromClaim", **msgspec.to_builtins(config)}


def node_selector(choices: Sequence[Choice], node: str) -> Tree | None:
    """Where all the devices can be reached from; None: everywhere."""
    fields: list[Tree] = []
    expressions: list[Tree] = []
    for choice in choices:
        place = choice.device.place
        if place.node_name or choice.device.binds_to_node:
            named = {"key": "metadata.name", "operator": "In", "values": [place.node_name or node]}
            return {"nodeSelectorTerms": [{"matchFields": [named]}]}
        # Slices have selectors of one term.
        for term in place.selector.nodeSelectorTerms if place.selector is not None else ():
            said = msgspec.to_builtins(term)
            fields += [each for each in said.get("matchFields", ()) if each not in fields]
            expressions += [each for each in said.get("matchExpressions", ()) if each not in expressions]
    term = {"matchExpressions": expressions} if expressions else {}
    term |= {"matchFields": fields} if fields else {}
    return {"nodeSelectorTerms": [term]} if term else None


def held(given: Any) -> Iterator[tuple[DeviceID, Amounts]]:
    """The devices of an allocation that nobody else can have, with what is taken of those that are shared."""
    for result in (given.devices.results if given.devices is not None else None) or ():
        if not result.adminAccess:
            consumed = {name: parse(str(value)).nanos for name, value in (result.consumedCapacity or {}).items()}
            yield DeviceID(result.driver, result.pool, result.device), consumed
