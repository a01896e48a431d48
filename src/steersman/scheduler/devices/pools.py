"""What drivers offer: ResourceSlices, read into pools of devices."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.quantity import parse
from steersman.cel.devices import device_value
from steersman.scheduler.matching import any_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from steersman.scheduler.node_info import NodeInfo

#: Counters by name of the set they are in, in nanos.
Counters = dict[str, dict[str, int]]


class DeviceID(NamedTuple):
    """Devices are unique by these together."""

    driver: str
    pool: str
    device: str


class Place:
    """On which nodes a device can be used."""

    __slots__ = ("_test", "node_name", "selector")

    def __init__(self, said: Any) -> None:
        """``said``: a slice's spec, or a device that tells it by itself."""
        self.node_name: Final[str] = said.nodeName or ""
        self.selector: Final = said.nodeSelector
        self._test = any_term(said.nodeSelector.nodeSelectorTerms) if said.nodeSelector is not None else None

    def holds(self, node: NodeInfo) -> bool:
        """Whether the device can be used there. Without a name or selector it can be everywhere."""
        if self.node_name:
            return node.name == self.node_name
        return self._test is None or self._test(node)


class Device:
    """One device, with what the rules ask of it again and again."""

    __slots__ = ("_value", "attributes", "binds_to_node", "capacity", "consumes", "id", "is_shared", "place", "pool", "said", "selected", "taints")  # fmt: skip

    def __init__(self, pool: Pool, said: Any, place: Place) -> None:
        self.pool: Final = pool
        self.said: Final = said
        self.place: Final = place
        self.id: Final = DeviceID(pool.driver, pool.name, said.name)
        self.attributes: Final[Mapping[str, Any]] = said.attributes or {}
        self.capacity: Final[Mapping[str, Any]] = said.capacity or {}
        self.is_shared: Final = bool(said.allowMultipleAllocations)
        self.binds_to_node: Final = bool(said.bindsToNode)
        self.taints: Final[Sequence[Any]] = said.taints or ()
        #: What it takes of the counters that it shares with other devices of its pool.
        self.consumes: Final[Counters] = {
            each.counterSet: _counters(each.counters) for each in said.consumesCounters or ()
        }
        #: What selectors said of it, by expression.
        self.selected: Final[dict[str, bool]] = {}
        self._value: dict[str, Any] | None = None

    @property
    def value(self) -> dict[str, Any]:
        """What selectors see."""
        if self._value is None:
            self._value = device_value(self.id.driver, self.attributes, self.capacity, shared=self.is_shared)
        return self._value

    def attribute(self, name: str) -> Any:
        """An attribute by its full name; None when it has none such. The driver's own need not name their domain."""
        found = self.attributes.get(name)
        if found is None:
            domain, _, rest = name.partition("/")
            found = self.attributes.get(rest) if domain == self.id.driver else None
        return found


class Pool:
    """The slices of one driver and pool, of the latest generation."""

    def __init__(self, driver: str, name: str, slices: Sequence[Any]) -> None:
        self.driver: Final = driver
        self.name: Final = name
        self.counters: Final[Counters] = {}
        self.devices: Final[list[Device]] = []
        latest = max(each.spec.pool.generation or 0 for each in slices)
        current = [each for each in slices if (each.spec.pool.generation or 0) == latest]
        #: Some slices are not known yet, or not any more.
        self.is_incomplete: Final = any(len(current) < each.spec.pool.resourceSliceCount for each in current)
        for each in sorted(current, key=_name):
            self._read(each.spec)
        #: Some of its devices take their time: others are taken first (KEP-5007).
        self.is_slow: Final = any(device.said.bindingConditions for device in self.devices)
        #: Why it cannot be used at all.
        self.fault: Final = next(self._faults(current), "")

    def _faults(self, slices: Sequence[Any]) -> Iterator[str]:
        sets = [each.name for spec in (each.spec for each in slices) for each in spec.sharedCounters or ()]
        yield from (f"duplicate counter set name {name}" for name in sets if sets.count(name) > 1)
        names = Counter(device.id.device for device in self.devices)
        yield from (f"duplicate device name {name}" for name, count in names.items() if count > 1)
        for device in self.devices:
            for name, counters in device.consumes.items():
                if name not in self.counters:
                    yield f"counter set {name} not found"
                missing = counters.keys() - self.counters.get(name, {}).keys()
                yield from (f"counter {each} not found in counter set {name}" for each in sorted(missing))

    @property
    def key(self) -> str:
        """As messages name it."""
        return f"{self.driver}/{self.name}"

    def _read(self, spec: Any) -> None:
        for each in spec.sharedCounters or ():
            self.counters[each.name] = _counters(each.counters)
        place = Place(spec)
        for said in spec.devices or ():
            self.devices.append(Device(self, said, Place(said) if spec.perDeviceNodeSelection else place))


class Pools:
    """All pools, quick to search by node."""

    def __init__(self, slices: Iterable[Any]) -> None:
        grouped: dict[tuple[str, str], list[Any]] = {}
        for each in slices:
            grouped.setdefault((each.spec.driver, each.spec.pool.name), []).append(each)
        made = [Pool(driver, name, each) for (driver, name), each in sorted(grouped.items())]
        self._pools: Final = sorted(made, key=lambda pool: pool.is_slow)
        self._local: Final[dict[str, set[int]]] = {}
        self._anywhere: Final[set[int]] = set()
        for number, pool in enumerate(self._pools):
            for place in {device.place for device in pool.devices}:
                if place.node_name:
                    self._local.setdefault(place.node_name, set()).add(number)
                else:
                    self._anywhere.add(number)

    def on(self, node: NodeInfo) -> list[tuple[Pool, list[Device]]]:
        """Pools with devices that can be used on a node, with these devices, in a stable order."""
        numbers = sorted(self._anywhere | self._local.get(node.name, set()))
        found = []
        for pool in (self._pools[number] for number in numbers):
            devices = [device for device in pool.devices if device.place.holds(node)]
            if devices:
                found.append((pool, devices))
        return found


def _name(obj: Any) -> str:
    return str(obj.metadata.name)


def _counters(said: Mapping[str, Any] | None) -> dict[str, int]:
    return {name: parse(str(counter["value"])).nanos for name, counter in (said or {}).items()}
