"""One resource in one version as the endpoints serve it: its storage, strategy, type and conversions."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from steersman.apimachinery.codec import encode
from steersman.apimachinery.json_parts import PARTS_BYTES
from steersman.apiserver.generic.conversion import SharedConversions
from steersman.apiserver.generic.entry import object_head
from steersman.apiserver.generic.watch_counts import WatchCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct
    from steersman.apiserver.generic.conversion import Converter
    from steersman.apiserver.generic.entry import Entry, Layout
    from steersman.apiserver.generic.store import ObjectStore
    from steersman.apiserver.generic.strategy import Strategy
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.apiserver.spec_facts import SpecFactsCache
    from steersman.asynckit.clock import Clock
    from steersman.schema.resources import Resource


class ServedResource:
    """One resource in one version, as the endpoints use it.

    All versions of a resource share ``storage``, ``cache`` and ``strategy``; they differ in ``resource``, ``struct`` and
    the two conversions.
    """

    __slots__ = (
        "_load_struct",
        "_struct",
        "cache",
        "clock",
        "conversions",
        "converter",
        "custom_versions",
        "decode",
        "field_labels",
        "from_storage",
        "group_resource",
        "head",
        "is_custom",
        "layout",
        "list_kind",
        "random",
        "resource",
        "spec_facts",
        "storage",
        "strategy",
        "to_storage",
        "watch_counts",
    )

    def __init__(
        self,
        resource: Resource,
        *,
        storage: ObjectStore | None,
        cache: WatchCache | None,
        strategy: Strategy,
        struct: Struct | Callable[[], Struct] | None,
        to_storage: Callable[[Tree], Tree] | None = None,
        from_storage: Callable[[Tree], Tree] | None = None,
        is_custom: bool = False,
        custom_versions: Collection[str] = (),
        field_labels: Mapping[str, str] | None = None,
        decode: Callable[[Tree], tuple[Tree, list[str]]] | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] = random.random,
        spec_facts: SpecFactsCache | None = None,
        converter: Converter | None = None,
        layout: Layout | None = None,
    ) -> None:
        """``cache`` is None for resources that are not stored (reviews); they need a ``clock``.

        ``struct`` may be a function that returns the type, called when it is first needed.
        """
        #: The resource in the version served.
        self.resource = resource
        #: ``pods``, ``deployments.apps``.
        self.group_resource = resource.group_resource
        #: The generic store, which does all writes.
        self.storage = storage
        if cache is not None:
            self.cache = cache
            self.layout = cache.layout if layout is None else layout
            clock = cache.clock
        assert clock is not None
        self.clock = clock
        self.strategy = strategy
        self._struct: Struct | None = None if callable(struct) else struct
        self._load_struct: Callable[[], Struct] | None = struct if callable(struct) else None
        #: Conversions from the version served to the storage version and back, including kind and apiVersion. They may change
        #: their argument. None if both versions are the same, so that stored bytes are served.
        self.to_storage = to_storage
        self.from_storage = from_storage
        #: Conversion by webhooks (see ``conversion``), which entries need before they are served. None: the two
        #: functions above.
        self.converter = converter
        #: Converted entries, shared by watches.
        self.conversions = None if converter is None else SharedConversions(converter)
        #: Custom resource: list items have kind and apiVersion, there is no protobuf, and lists always have ``continue``.
        self.is_custom = is_custom
        #: Custom resources: apiVersions of the definition, served or not.
        self.custom_versions = custom_versions
        self.list_kind = resource.list_kind
        #: Field labels of this version → labels of the strategy. None: those of the strategy.
        self.field_labels = field_labels
        #: Prunes the tree of a body, and returns the paths of the removed fields. None: by the struct.
        self.decode = decode
        #: Cached facts about pod specs; None without a cache.
        self.spec_facts = spec_facts
        #: Returns a number from 0 to 1, which spreads the timeouts of watches.
        self.random = random
        #: Prefix that makes an entry's ``raw[1:]`` a whole object in this version (if ``from_storage`` is None).
        self.head = object_head(resource.kind, resource.api_version)
        self.watch_counts = WatchCounts()

    @property
    def struct(self) -> Struct | None:
        """Return the type of the object in the version served; None accepts any fields."""
        struct = self._struct
        if struct is None and self._load_struct is not None:
            struct = self._struct = self._load_struct()
        return struct

    def object_bytes(self, entry: Entry) -> bytes:
        """Return the whole object, encoded, in the version served."""
        if self.from_storage is None:
            raw = entry.raw
            return self.head + (raw[1:] if len(raw) < PARTS_BYTES else memoryview(raw)[1:])
        return encode(self.tree(entry))

    def tree(self, entry: Entry) -> Tree:
        """Return a new tree of the whole object in the version served."""
        tree = self.layout.tree(entry)
        if self.from_storage is None:
            return tree
        return self.from_storage(tree)
