"""Indexed object store of an informer, and the lister that reads it.

Upstream: ``k8s.io/client-go/tools/cache`` ``Indexer`` and ``Lister``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from steersman.apimachinery.selectors import parse_label_selector
from steersman.client.objects import key_of, labels_of, namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

T = TypeVar("T")

#: Index by namespace, created on first use.
_BY_NAMESPACE: Final = "namespace"


class _Index(Generic[T]):
    def __init__(self, values_of: Callable[[T], Iterable[str]]) -> None:
        self._values_of = values_of
        #: Value → keys of the objects with it, in insertion order; entries are never empty.
        self.keys: dict[str, dict[str, None]] = {}

    def change(self, key: str, old: T | None, new: T | None) -> None:
        before = set() if old is None else set(self._values_of(old))
        after = set() if new is None else set(self._values_of(new))
        for value in before - after:
            keys = self.keys[value]
            keys.pop(key, None)
            if not keys:
                del self.keys[value]
        for value in after - before:
            self.keys.setdefault(value, {})[key] = None


class Store(Generic[T]):
    """Objects by key, with indexes. Confined to one event loop; only its informer writes to it."""

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}
        self._indexes: dict[str, _Index[T]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    def get(self, key: str) -> T | None:
        """Return the object of a key, or None."""
        return self._objects.get(key)

    def values(self) -> Iterable[T]:
        """Return a view of all objects, in insertion order."""
        return self._objects.values()

    def snapshot_keys(self) -> list[str]:
        """Return a copy of all keys."""
        return list(self._objects)

    def put(self, key: str, obj: T) -> None:
        """Add or replace an object."""
        if self._indexes:
            old = self._objects.get(key)
            for index in self._indexes.values():
                index.change(key, old, obj)
        self._objects[key] = obj

    def remove(self, key: str) -> T | None:
        """Remove an object; return it, or None."""
        old = self._objects.pop(key, None)
        if old is not None:
            for index in self._indexes.values():
                index.change(key, old, None)
        return old

    def add_index(self, name: str, values_of: Callable[[T], Iterable[str]]) -> None:
        """Add an index on the values of ``values_of``, at any time.

        Raises ValueError if the name has another function.
        """
        existing = self._indexes.get(name)
        if existing is not None:
            if existing._values_of is not values_of:
                raise ValueError(f"there is another index {name!r}")
            return
        index = _Index(values_of)
        for key, obj in self._objects.items():
            index.change(key, None, obj)
        self._indexes[name] = index

    def by_index(self, name: str, value: str) -> list[T]:
        """Return objects with an index value. Raises LookupError for an unknown index."""
        return [self._objects[key] for key in self._index(name).keys.get(value, ())]

    def index_values(self, name: str) -> list[str]:
        """Return the values of an index. Raises LookupError for an unknown index."""
        return list(self._index(name).keys)

    def in_namespace(self, namespace: str) -> list[T]:
        """Return objects of a namespace; the first call creates the index."""
        if _BY_NAMESPACE not in self._indexes:
            self.add_index(_BY_NAMESPACE, _namespaces)
        return self.by_index(_BY_NAMESPACE, namespace)

    def _index(self, name: str) -> _Index[T]:
        index = self._indexes.get(name)
        if index is None:
            raise LookupError(f"there is no index {name!r}")
        return index


def _namespaces(obj: Any) -> tuple[str]:
    return (namespace_of(obj),)


class Lister(Generic[T]):
    """Read access to a cache, which may lag behind the server. Objects are shared and must not be modified.

    Copy an object before modifying it (``copy.deepcopy``).
    """

    def __init__(self, store: Store[T]) -> None:
        self._store = store

    def __len__(self) -> int:
        return len(self._store)

    def __iter__(self) -> Iterator[T]:
        return iter(self._store.values())

    def get(self, name: str, *, namespace: str = "") -> T | None:
        """Return the object of a name, or None."""
        return self._store.get(f"{namespace}/{name}" if namespace else name)

    def by_key(self, key: str) -> T | None:
        """Return the object of a key (``objects.key_of``), or None."""
        return self._store.get(key)

    def keys(self) -> list[str]:
        """Return all keys."""
        return self._store.snapshot_keys()

    def by_index(self, name: str, value: str) -> Sequence[T]:
        """Return objects with an index value. Raises LookupError for an unknown index."""
        return self._store.by_index(name, value)

    def list(self, *, namespace: str = "", label_selector: str | Mapping[str, str] = "") -> list[T]:
        """Return objects of one namespace or of all, filtered by labels.

        Raises ``SelectorError`` for a malformed selector.
        """
        objects = self._store.in_namespace(namespace) if namespace else self._store.values()
        if not label_selector:
            return [*objects]
        if not isinstance(label_selector, str):
            required = label_selector.items()
            return [obj for obj in objects if required <= labels_of(obj).items()]
        selector = parse_label_selector(label_selector)
        return [obj for obj in objects if selector.matches(labels_of(obj))]


def keyed(objects: Iterable[T]) -> dict[str, T]:
    """Return the objects by key; the last of duplicates wins."""
    return {key_of(obj): obj for obj in objects}
