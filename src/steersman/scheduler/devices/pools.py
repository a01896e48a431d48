"""Device pools, built from ResourceSlices."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.quantity import parse
from steersman.scheduler.matching import any_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from steersman.scheduler.node_info import NodeInfo

#: Counter values in nanos by counter set and name.
Counters = dict[str, dict[str, int]]


class DeviceID(NamedTuple):
    """Unique identifier of a device."""

    driver: str
    pool: str
    device: str


class NodeScope:
    """Nodes on which a device is available."""

    __slots__ = ("_test", "node_name", "selector")

    def __init__(self, spec: Any) -> None:
        """``spec``: the spec of a slice, or a device with its own node selection."""
        self.node_name: Final[str] = spec.nodeName or ""
        self.selector: Final = spec.nodeSelector
        self._test = any_term(spec.nodeSelector.nodeSelectorTerms) if spec.nodeSelector is not None else None

    def matches(self, node: NodeInfo) -> bool:
        """Report whether the device is available on the node. Without name and selector it is available everywhere."""
        if self.node_name:
            return node.name == self.node_name
        return self._test is None or self._test(node)


class Device:
    """A device with the facts that the allocator reads."""

    __slots__ = ("_value", "allows_multiple_allocations", "attributes", "binds_to_node", "capacity", "consumes", "id", "place", "pool", "selected", "spec", "taints")  # fmt: skip

    def __init__(self, pool: Pool, spec: Any, place: NodeScope) -> None:
        self.pool: Final = pool
        self.spec: Final = spec
        self.place: Final = place
        self.id: Final = DeviceID(pool.driver, pool.name, spec.name)
        self.attributes: Final[Mapping[str, Any]] = spec.attributes or {}
        self.capacity: Final[Mapping[str, Any]] = spec.capacity or {}
        self.allows_multiple_allocations: Final = bool(spec.allowMultipleAllocations)
        self.binds_to_node: Final = bool(spec.bindsToNode)
        self.taints: Final[Sequence[Any]] = spec.taints or ()
        #: Consumed shared counters of its pool.
        self.consumes: Final[Counters] = {
            consumes_counter.counterSet: _counters(consumes_counter.counters)
            for consumes_counter in spec.consumesCounters or ()
        }
        #: Results of CEL selectors, by expression.
        self.selected: Final[dict[str, bool]] = {}
        self._value: dict[str, Any] | None = None

    @property
    def value(self) -> dict[str, Any]:
        """The ``device`` variable of CEL selectors."""
        if self._value is None:
            from steersman.cel.devices import device_value  # noqa: PLC0415 — loaded with the first expression

            self._value = device_value(
                self.id.driver, self.attributes, self.capacity, shared=self.allows_multiple_allocations
            )
        return self._value

    def attribute(self, name: str) -> Any:
        """Return an attribute by qualified name, or None. The driver's own attributes may omit their domain."""
        attribute = self.attributes.get(name)
        if attribute is None:
            domain, _, rest = name.partition("/")
            attribute = self.attributes.get(rest) if domain == self.id.driver else None
        return attribute


class Pool:
    """The latest generation of a driver's pool."""

    def __init__(self, driver: str, name: str, slices: Sequence[Any]) -> None:
        self.driver: Final = driver
        self.name: Final = name
        self.counters: Final[Counters] = {}
        self.devices: Final[list[Device]] = []
        latest = max(slice_.spec.pool.generation or 0 for slice_ in slices)
        current = [slice_ for slice_ in slices if (slice_.spec.pool.generation or 0) == latest]
        #: True if slices of the generation are missing.
        self.is_incomplete: Final = any(len(current) < slice_.spec.pool.resourceSliceCount for slice_ in current)
        for slice_ in sorted(current, key=_name):
            self._read(slice_.spec)
        #: True if devices have binding conditions; such pools are tried last (KEP-5007).
        self.is_slow: Final = any(device.spec.bindingConditions for device in self.devices)
        #: Why the pool is invalid; empty if it is valid.
        self.fault: Final = next(self._faults(current), "")

    def _faults(self, slices: Sequence[Any]) -> Iterator[str]:
        sets = [
            counter_set.name for spec in (slice_.spec for slice_ in slices) for counter_set in spec.sharedCounters or ()
        ]
        yield from (f"duplicate counter set name {name}" for name in sets if sets.count(name) > 1)
        names = Counter(device.id.device for device in self.devices)
        yield from (f"duplicate device name {name}" for name, count in names.items() if count > 1)
        for device in self.devices:
            for name, counters in device.consumes.items():
                if name not in self.counters:
                    yield f"counter set {name} not found"
                missing = counters.keys() - self.counters.get(name, {}).keys()
                yield from (
                    f"counter {counter_name} not found in counter set {name}" for counter_name in sorted(missing)
                )

    @property
    def key(self) -> str:
        """``driver/name``, for messages."""
        return f"{self.driver}/{self.name}"

    def _read(self, spec: Any) -> None:
        for shared_counter in spec.sharedCounters or ():
            self.counters[shared_counter.name] = _counters(shared_counter.counters)
        place = NodeScope(spec)
        for device in spec.devices or ():
            self.devices.append(Device(self, device, NodeScope(device) if spec.perDeviceNodeSelection else place))


class Pools:
    """Index of pools by node."""

    def __init__(self, slices: Iterable[Any]) -> None:
        grouped: dict[tuple[str, str], list[Any]] = {}
        for slice_ in slices:
            grouped.setdefault((slice_.spec.driver, slice_.spec.pool.name), []).append(slice_)
        pools = [Pool(driver, name, pool_slices) for (driver, name), pool_slices in sorted(grouped.items())]
        self._pools: Final = sorted(pools, key=lambda pool: pool.is_slow)
        self._local: Final[dict[str, set[int]]] = {}
        self._anywhere: Final[set[int]] = set()
        for number, pool in enumerate(self._pools):
            for place in {device.place for device in pool.devices}:
                if place.node_name:
                    self._local.setdefault(place.node_name, set()).add(number)
                else:
                    self._anywhere.add(number)

    def on(self, node: NodeInfo) -> list[tuple[Pool, list[Device]]]:
        """Return the pools with the devices that are available on a node, in a stable order."""
        numbers = sorted(self._anywhere | self._local.get(node.name, set()))
        device_pools = []
        for pool in (self._pools[number] for number in numbers):
            devices = [device for device in pool.devices if device.place.matches(node)]
            if devices:
                device_pools.append((pool, devices))
        return device_pools


def _name(obj: Any) -> str:
    return str(obj.metadata.name)


def _counters(counters: Mapping[str, Any] | None) -> dict[str, int]:
    return {name: parse(str(counter["value"])).nanos for name, counter in (counters or {}).items()}
