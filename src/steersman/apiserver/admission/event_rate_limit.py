"""``EventRateLimit``: rate limits of Events by server, namespace, user, or source and object."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apimachinery.errors import too_many_requests
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.asynckit.ratelimit import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.schema.resources import Resource


_CACHE_SIZE: Final = 4096
_OBJECT_PARTS: Final = ("kind", "namespace", "name", "uid", "apiVersion")


class EventRateLimit(Plugin):
    """Rate limits of core Events; an Event counts against all limits even if one rejects it."""

    name: ClassVar[str] = "EventRateLimit"

    def __init__(self, configuration: Tree, *, clock: Clock) -> None:
        """``configuration``: ``Configuration`` of ``eventratelimit.admission.k8s.io``. Raises ValueError."""
        limits = configuration.get("limits") or []
        if not limits:
            raise ValueError("limits: must not be empty")
        if not isinstance(limits, list) or not all(isinstance(limit, dict) for limit in limits):
            raise ValueError("limits: must be a list of objects")
        self._limits: Final = [_Limit(limit, f"limits[{number}]", clock) for number, limit in enumerate(limits)]
        kinds = [limit.kind for limit in self._limits]
        for number, kind in enumerate(kinds):
            if kind in kinds[:number]:
                raise ValueError(f"limits[{number}].type: there is one for {kind} already")

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of Events."""
        is_event = resource.group_resource == "events" and not subresource
        return is_event and operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, attributes: Attributes) -> None:
        """Raise 429 with the last exceeded limit."""
        if attributes.dry_run:
            return
        exceeded = [text for limit in self._limits if (text := limit.spend(attributes))]
        if exceeded:
            raise too_many_requests(f"Too many requests: {exceeded[-1]}")


class _Limit:
    """One limit: an LRU cache of token buckets by key."""

    def __init__(self, configuration: Tree, path: str, clock: Clock) -> None:
        self.kind: Final[str] = configuration.get("type") or ""
        if self.kind not in _KEYS:
            raise ValueError(f"{path}.type: {self.kind!r} is none of {', '.join(_KEYS)}")
        self._key_of: Final = _KEYS[self.kind]
        self._qps: Final = _positive(configuration, "qps", path)
        self._burst: Final = _positive(configuration, "burst", path)
        size = configuration.get("cacheSize") or _CACHE_SIZE
        if not isinstance(size, int) or size < 0:
            raise ValueError(f"{path}.cacheSize: must not be negative")
        self._size: Final = size
        self._clock: Final = clock
        self._buckets: Final[dict[str, TokenBucket]] = {}

    def spend(self, attributes: Attributes) -> str:
        """Take a token; return why none is left, or an empty string."""
        key = self._key_of(attributes)
        bucket = self._buckets.pop(key, None)
        if bucket is None:
            bucket = TokenBucket(self._qps, self._burst, clock=self._clock)
            if len(self._buckets) >= self._size:
                del self._buckets[next(iter(self._buckets))]
        self._buckets[key] = bucket  # most recently used
        return "" if bucket.try_take() else f"limit reached on type {self.kind} for key {key}"


def _positive(configuration: Tree, name: str, path: str) -> int:
    value = configuration.get(name) or 0
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"{path}.{name}: must be positive")
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
