"""Scenario of manually created Endpoints: slices mirror exactly their contents."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lightkube.models.core_v1 import Endpoints, EndpointSubset, Service
from lightkube.models.discovery_v1 import EndpointSlice
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import annotations_of, labels_of, name_of, uid_of
from steersman.runtime.owners import controller_of

NAMES = ("a", "b", "c")
ADDRESSES = ("192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1", "2001:db8::2")
#: At most one unnamed port: an address may have all of them, and a slice has each name once.
PORTS: tuple[dict[str, Any], ...] = (
    {"port": 80}, {"port": 81, "name": "web"}, {"port": 80, "name": "dns", "protocol": "UDP"},
    {"port": 82, "name": "grpc", "appProtocol": "h2c"},
)  # fmt: skip
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_MIRROR = "endpointslicemirroring-controller.k8s.io"
_SKIP = "endpointslice.kubernetes.io/skip-mirror"
_LEADER = "control-plane.alpha.kubernetes.io/leader"


class Mirrors(Scenario):
    """Users change Endpoints, mark them, change the type of Services, and edit mirrored slices."""

    controllers = ("endpointslice-mirroring-controller", "garbage-collector-controller")

    def edits(self) -> Edits:
        return [self.make_service, self.make_service, self.select, self.remove_service, self.make,
                self.make, self.make, self.change, self.change, self.mark, self.remove, self.replace,
                self.break_mirror, self.break_mirror, self.lose_mirror]  # fmt: skip

    # Services

    async def make_service(self, world: World) -> None:
        spec = {"ports": [{"port": 80}], "selector": world.dice.choice([None, None, {"app": "x"}])}
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": world.dice.choice(NAMES)}, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)

    async def select(self, world: World) -> None:
        service = await world.any(Service)
        if service is not None:
            patch = {"spec": {"selector": None if service.spec.selector else {"app": "x"}}}
            await world.client.patch(Service, name_of(service), patch, namespace=NAMESPACE)

    async def remove_service(self, world: World) -> None:
        service = await world.any(Service)
        if service is not None:
            await world.client.delete_object(service)

    # Endpoints

    def _subsets(self, world: World) -> list[dict[str, Any]]:
        dice, subsets = world.dice, []
        for _ in range(dice.choice([0, 1, 1, 2, 3])):
            chosen = dice.sample(ADDRESSES, dice.choice([1, 2, 4]))
            at = dice.randrange(len(chosen) + 1)
            subset = {"addresses": [{"ip": address} for address in chosen[:at]],
                      "notReadyAddresses": [{"ip": address} for address in chosen[at:]],
                      "ports": dice.sample(PORTS[1:], 2) if dice.random() < 0.3 else [dice.choice(PORTS)]}  # fmt: skip
            subsets.append({key: rows for key, rows in subset.items() if rows})
        return subsets

    async def make(self, world: World) -> None:
        await self._make(world, world.dice.choice(NAMES))

    async def _make(self, world: World, name: str) -> None:
        metadata = {"name": name, "labels": {"team": world.dice.choice("xyz")}}
        body = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": self._subsets(world)}
        await world.client.create(body, namespace=NAMESPACE)

    async def _patch(self, world: World, patch: dict[str, Any]) -> None:
        endpoints = await world.any(Endpoints)
        if endpoints is not None:
            await world.client.patch(Endpoints, name_of(endpoints), patch, namespace=NAMESPACE)

    async def change(self, world: World) -> None:
        metadata = {"labels": {"team": world.dice.choice(["x", "y", None])},
                    "annotations": {"note": world.dice.choice(["1", "2", None])}}  # fmt: skip
        await self._patch(world, {"metadata": metadata, "subsets": self._subsets(world) or None})

    async def mark(self, world: World) -> None:
        """Set or remove a label or annotation that disables mirroring."""
        labels, notes = world.dice.choice(
            [({_SKIP: "true"}, {}), ({}, {_LEADER: "x"}), ({_SKIP: None}, {_LEADER: None})]
        )
        await self._patch(world, {"metadata": {"labels": labels, "annotations": notes}})

    async def remove(self, world: World) -> None:
        endpoints = await world.any(Endpoints)
        if endpoints is not None:
            await world.client.delete_object(endpoints)

    async def replace(self, world: World) -> None:
        endpoints = await world.any(Endpoints)
        if endpoints is not None:
            await world.client.delete_object(endpoints)
            await self._make(world, name_of(endpoints))

    # Mirrors

    async def break_mirror(self, world: World) -> None:
        endpoint_slice = await world.any(EndpointSlice)
        if endpoint_slice is not None:
            broken: dict[str, Any] = world.dice.choice([
                {"endpoints": [{"addresses": ["192.0.2.99" if endpoint_slice.addressType == "IPv4" else "2001:db8::99"]}]},
                {"ports": [{"port": 99}]},
                {"metadata": {"labels": {_MANAGED_BY: "user"}}},
                {"metadata": {"labels": {"team": "broken"}, "annotations": {"note": "broken"}}},
                {"endpoints": []},
            ])  # fmt: skip
            await world.client.patch(EndpointSlice, name_of(endpoint_slice), broken, namespace=NAMESPACE)

    async def lose_mirror(self, world: World) -> None:
        endpoint_slice = await world.any(EndpointSlice)
        if endpoint_slice is not None:
            await world.client.delete_object(endpoint_slice)

    # What must be so

    async def wrong(self, world: World) -> str:
        services = {name_of(item): item for item in await world.all(Service)}
        endpoints = {name_of(item): item for item in await world.all(Endpoints)}
        slices = [
            endpoint_slice
            for endpoint_slice in await world.all(EndpointSlice)
            if labels_of(endpoint_slice).get(_MANAGED_BY) == _MIRROR
        ]
        for name in sorted(
            {
                *services,
                *endpoints,
                *(labels_of(endpoint_slice)["kubernetes.io/service-name"] for endpoint_slice in slices),
            }
        ):
            mine = [
                endpoint_slice
                for endpoint_slice in slices
                if labels_of(endpoint_slice)["kubernetes.io/service-name"] == name
            ]
            stored, service = endpoints.get(name), services.get(name)
            if stored is None or service is None or service.spec.selector or _is_marked(stored):
                if mine:
                    return f"{name} is not to be mirrored, and is by {[name_of(mirror) for mirror in mine]}"
                continue
            fault = _wrong_mirrors(stored, mine)
            if fault:
                return f"{name}: {fault}"
        return ""


def _is_marked(endpoints: Endpoints) -> bool:
    return labels_of(endpoints).get(_SKIP) == "true" or _LEADER in annotations_of(endpoints)


def _wrong_mirrors(endpoints: Endpoints, slices: list[EndpointSlice]) -> str:
    reported = Counter(
        (endpoint_slice.addressType, row.addresses[0], bool(row.conditions and row.conditions.ready), port)
        for endpoint_slice in slices
        for row in endpoint_slice.endpoints or ()
        for port in _ports(endpoint_slice)
    )
    expected = Counter(dict.fromkeys(_expected_slices(endpoints), 1))
    if reported != expected:
        return f"told are {sorted(reported - expected)} too much and {sorted(expected - reported)} too little"
    empty = [name_of(endpoint_slice) for endpoint_slice in slices if not endpoint_slice.endpoints]
    if empty:
        return f"{empty} say nothing"
    for endpoint_slice in slices:
        labels = {
            key: text
            for key, text in labels_of(endpoint_slice).items()
            if not key.startswith(("endpointslice.", "kubernetes."))
        }
        if labels != labels_of(endpoints) or annotations_of(endpoint_slice).get("note") != annotations_of(
            endpoints
        ).get("note"):
            return f"{name_of(endpoint_slice)} has labels {labels} and annotations {annotations_of(endpoint_slice)}"
        owner = controller_of(endpoint_slice)
        if owner is None or owner.uid != uid_of(endpoints):
            return f"{name_of(endpoint_slice)} is owned by {owner}"
    return ""


def _expected_slices(endpoints: Endpoints) -> list[tuple[Any, ...]]:
    """Return the expected slices; an address that is not ready in one subset is not ready for that port."""
    ready: dict[tuple[str, Any], bool] = {}
    for subset in endpoints.subsets or ():
        for address, is_ready in _rows(subset):
            for port in _ports(subset):
                ready[(address, port)] = ready.get((address, port), True) and is_ready
    return [
        (f"IPv{6 if ':' in address else 4}", address, is_ready, port) for (address, port), is_ready in ready.items()
    ]


def _rows(subset: EndpointSubset) -> list[tuple[str, bool]]:
    rows = [(address.ip, True) for address in subset.addresses or ()]
    return rows + [(not_ready_address.ip, False) for not_ready_address in subset.notReadyAddresses or ()]


def _ports(of: Any) -> list[tuple[Any, ...]]:
    return [(port.name or "", port.port, port.protocol or "TCP", port.appProtocol or "") for port in of.ports or ()]
