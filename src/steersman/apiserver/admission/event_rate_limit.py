"""``EventRateLimit``: a flood of Events, of one user or about one object, does not fill the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import too_many_requests
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.asynckit.ratelimit import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock
    from steersman.schema.resources import Resource

    Tree = dict[str, Any]

_CACHE_SIZE: Final = 4096
_OBJECT_PARTS: Final = ("kind", "namespace", "name", "uid", "apiVersion")


class EventRateLimit(Plugin):
    """Events of ``v1``; each has to be within all limits, and counts for all of them even when it is refused."""

    name: ClassVar[str] = "EventRateLimit"

    def __init__(self, configuration: Tree, *, clock: Clock) -> None:
        """``configuration``: ``Configuration`` of ``eventratelimit.admission.k8s.io``. Raises ValueError."""
        limits = configuration.get("limits") or []
        if not limits:
            raise ValueError("limits: must not be empty")
        self._limits: Final = [_Limit(limit, f"limits[{number}]", clock) for number, limit in enumerate(limits)]
        kinds = [limit.kind for limit in self._limits]
        for number, kind in enumerate(kinds):
            if kind in kinds[:number]:
                raise ValueError(f"limits[{number}].type: there is one for {kind} already")

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Creation and change of Events."""
        is_event = resource.group_resource == "events" and not subresource
        return is_event and operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, attributes: Attributes) -> None:
        """Raises 429, with the last of the limits that are reached."""
        if attributes.dry_run:
            return
        reached = [text for limit in self._limits if (text := limit.spend(attributes))]
        if reached:
            raise too_many_requests(reached[-1])


class _Limit:
    """One limit: a bucket for each key, of which those that were asked for longest ago are forgotten."""

    def __init__(self, said: Tree, where: str, clock: Clock) -> None:
        self.kind: Final[str] = said.get("type") or ""
        if self.kind not in _KEYS:
            raise ValueError(f"{where}.type: {self.kind!r} is none of {', '.join(_KEYS)}")
        self._key_of: Final = _KEYS[self.kind]
        self._qps: Final = _positive(said, "qps", where)
        self._burst: Final = _positive(said, "burst", where)
        size = said.get("cacheSize") or _CACHE_SIZE
        if not isinstance(size, int) or size < 0:
            raise ValueError(f"{where}.cacheSize: must not be negative")
        self._size: Final = size
        self._clock: Final = clock
        self._buckets: Final[dict[str, TokenBucket]] = {}

    def spend(self, attributes: Attributes) -> str:
        """Why the event is too much; empty when it is not."""
        key = self._key_of(attributes)
        bucket = self._buckets.pop(key, None)
        if bucket is None:
            bucket = TokenBucket(self._qps, self._burst, clock=self._clock)
            if len(self._buckets) >= self._size:
                del self._buckets[next(iter(self._buckets))]
        self._buckets[key] = bucket  # now the youngest
        return "" if bucket.try_take() else f"limit reached on type {self.kind} for key {key}"


def _positive(said: Tree, name: str, where: str) -> int:
    value = said.get(name) or 0
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"{where}.{name}: must be positive")
    return value


def _source_and_object(attributes: Attributes) -> str:
    event = attributes.object or {}
    source, about = event.get("source") or {}, event.get("involvedObject") or {}
    parts = [source.get("component"), source.get("host"), *(about.get(part) for part in _OBJECT_PARTS)]
    return "".join(part or "" for part in parts)


_KEYS: Final[dict[str, Callable[[Attributes], str]]] = {
    "Server": lambda _: "",
    "Namespace": lambda attributes: attributes.namespace,
    "User": lambda attributes: attributes.user.name,
    "SourceAndObject": _source_and_object,
}
