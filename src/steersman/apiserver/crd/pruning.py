"""Pruning: removal of custom resource fields that the schema does not specify.

The JSON type of the value decides what is visited, not the type in the schema: an object in place of a string loses its
fields, which are reported as unknown, before validation rejects it. Everything below
``x-kubernetes-preserve-unknown-fields`` is kept, but specified fields there are pruned.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.workmeter import charged
from steersman.schema import pruning
from steersman.schema.loader import OBJECT_META, struct

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape


_UNITS_PER_VALUE: Final = 2
#: Fields of each resource; of embedded ones as well.
_ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata"})
#: Order of dropped fields.
_METADATA, _FIELD, _EMBEDDED_METADATA = range(3)


class Pruned(NamedTuple):
    """Pruned tree, and the paths of dropped fields (``spec.items[0].typo``) in upstream's order.

    Those of the object's metadata come first, those of embedded objects' metadata last.
    """

    tree: Tree
    unknown: list[str]


def prune(shape: Shape, tree: Tree) -> Pruned:
    """Return a pruned copy of a custom object, which may share unchanged parts with ``tree``."""
    walk = _Walk(names_dropped=False)
    pruned = walk.object(shape, tree, "", keeps_unknown=shape.preserves_unknown, is_resource=True)
    if not walk.has_dropped:
        return Pruned(pruned, [])
    naming = _Walk(names_dropped=True)
    naming.object(shape, tree, "", keeps_unknown=shape.preserves_unknown, is_resource=True)
    return Pruned(pruned, naming.unknown())


class _Walk:
    """Walk that copies what is specified; it makes paths only on demand, because few objects need them."""

    __slots__ = ("_dropped", "_names_dropped", "has_dropped")

    def __init__(self, *, names_dropped: bool) -> None:
        self._names_dropped: Final = names_dropped
        self.has_dropped = False
        #: Paths of dropped fields, if asked for, each with its place in the order.
        self._dropped: Final[list[tuple[int, str]]] = []

    def unknown(self) -> list[str]:
        """Return the paths of dropped fields in upstream's order."""
        return [path for _, path in sorted(self._dropped)]

    def object(
        self, shape: Shape | None, value: dict[str, Any], path: str, *, keeps_unknown: bool, is_resource: bool
    ) -> dict[str, Any]:
        """Return an object without its unspecified fields. The metadata of a resource is pruned by its own type."""
        pruned: dict[str, Any] = {}
        properties = {} if shape is None else shape.properties
        has_others = shape is not None and shape.has_others
        for key, item in charged(value.items(), _UNITS_PER_VALUE):
            if is_resource and key in _ENVELOPE:
                is_tree = key == "metadata" and isinstance(item, dict)
                pruned[key] = self._metadata(item, path) if is_tree else item
            elif has_others or key in properties:
                below = properties.get(key, None if shape is None else shape.others)
                pruned[key] = self._value(below, item, self._join(path, key)) if _is_container(item) else item
            elif keeps_unknown:
                pruned[key] = item
            else:
                self.has_dropped = True
                if self._names_dropped:
                    self._dropped.append((_FIELD, self._join(path, key)))
        return pruned

    def _metadata(self, metadata: dict[str, Any], path: str) -> Any:
        pruned = pruning.prune(struct(OBJECT_META), metadata)
        if pruned.unknown:
            self.has_dropped = True
            place = _EMBEDDED_METADATA if path else _METADATA
            self._dropped.extend((place, self._join(path, f"metadata.{name}")) for name in pruned.unknown)
        return pruned.tree

    def _value(self, shape: Shape | None, value: Any, path: str, *, keeps_unknown: bool = False) -> Any:
        """Return a pruned object or array. ``keeps_unknown``: it is an item of an array that keeps unknown fields."""
        if shape is None and keeps_unknown:
            return value
        keeps_unknown = keeps_unknown or (shape is not None and shape.preserves_unknown)
        if isinstance(value, dict):
            is_resource = shape is not None and shape.is_embedded
            return self.object(shape, value, path, keeps_unknown=keeps_unknown, is_resource=is_resource)
        below = None if shape is None else shape.items
        return [
            self._value(below, item, f"{path}[{index}]" if self._names_dropped else "", keeps_unknown=keeps_unknown)
            if _is_container(item)
            else item
            for index, item in enumerate(charged(value, _UNITS_PER_VALUE))
        ]

    def _join(self, path: str, key: str) -> str:
        if not self._names_dropped:
            return ""
        return f"{path}.{key}" if path else key


def _is_container(value: Any) -> bool:
    return isinstance(value, (dict, list))
