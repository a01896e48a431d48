"""Shapes: a type as ownership sees it, a leaf, an object with separate fields or keys, or a list with separate items.

Shapes are derived from the type model once and cached with all results of the walks over trees. Undeclared fields of a
struct have no type; theirs is *deduced* from the value: objects are separate, anything else is a leaf.

Two sets are derived from a value. ``everything`` is added or removed with the value: the value and all below. ``below``
is owned by its applier: leaves, list items and map keys, but not an object with fields of its own.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.apimachinery.managedfields.elements import SELF
from steersman.apimachinery.managedfields.fieldset import LEAF_NODE, Node, in_order
from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError, item_keys
from steersman.apimachinery.sorting import sorted_in_parts
from steersman.apimachinery.typemodel import ListOf, ListType, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.apimachinery.workmeter import charged

_UNITS_PER_NAME: Final = 1
#: Objects with more fields are sorted in parts.
_SORTED_AT_ONCE_MAX: Final = 48


class Shape:
    """Atomic type: owned as a whole."""

    __slots__ = ("was_parts",)
    is_leaf = True

    def __init__(self, *, was_parts: bool = False) -> None:
        #: In another version the type may have had parts below, which sets written then may name.
        self.was_parts = was_parts

    def everything(self, value: Any) -> Node:
        """Return the set that is added or removed with the value, below the value itself. Raises UnkeyedItemError."""
        return {}

    def below(self, value: Any) -> Node:
        """Return the set that an applier owns below the value. List items without a key are skipped."""
        return {}

    def at(self, element: str) -> Shape | None:
        """Return the shape of a part; None if unknown."""
        return None


class ObjectShape(Shape):
    """Object with separately owned parts."""

    __slots__ = ()
    is_leaf = False

    def step(self, name: str) -> tuple[str, Shape]:
        """Return the element and the shape of a field or key."""
        raise NotImplementedError

    def at(self, element: str) -> Shape | None:
        return self.step(element[2:])[1] if element[:2] == "f:" else None

    def everything(self, value: Any) -> Node:
        if type(value) is not dict or not value:
            return LEAF_NODE
        node: Node = {SELF: LEAF_NODE}
        names = charged(sorted_in_parts(value), _UNITS_PER_NAME) if len(value) > _SORTED_AT_ONCE_MAX else sorted(value)
        for name in names:
            element, shape = self.step(name)
            node[element] = LEAF_NODE if shape.is_leaf else shape.everything(value[name])
        return node


class FieldsShape(ObjectShape):
    """Struct."""

    __slots__ = ("_struct", "steps")

    def __init__(self, struct: Struct) -> None:
        super().__init__()
        self._struct = struct
        #: Name → element and shape, of fields seen so far.
        self.steps: dict[str, tuple[str, Shape]] = {}

    def step(self, name: str) -> tuple[str, Shape]:
        step = self.steps.get(name)
        if step is None:
            field = self._struct.fields.get(name)
            if field is None:
                return f"f:{name}", DEDUCED
            step = self.steps[name] = (f"f:{name}", shape_of(field.type))
        return step

    def declares(self, element: str) -> bool:
        """Report whether the element is a field of the struct."""
        return element[2:] in self._struct.fields and element[:2] == "f:"

    def below(self, value: Any) -> Node:
        node: Node = {}
        if value.__class__ is not dict:
            return node
        steps = self.steps
        for name in charged(sorted_in_parts(value), _UNITS_PER_NAME):
            try:
                element, shape = steps[name]
            except KeyError:
                element, shape = self.step(name)
            if shape.is_leaf:
                node[element] = {}
                continue
            item = value[name]
            if name not in steps:  # undeclared fields are members, as map keys are
                node[element] = member(shape.below(item))
                continue
            below = shape.below(item)
            if below or not _owns_only_parts(shape, item):
                node[element] = below
        return node


class KeysShape(ObjectShape):
    """Map. Its keys are members of their own."""

    __slots__ = ("value",)

    def __init__(self, value: Shape) -> None:
        super().__init__()
        self.value = value

    def step(self, name: str) -> tuple[str, Shape]:
        return f"f:{name}", self.value

    def below(self, value: Any) -> Node:
        if value.__class__ is not dict:
            return {}
        shape = self.value
        if shape.is_leaf:
            return {f"f:{name}": {} for name in charged(sorted_in_parts(value), _UNITS_PER_NAME)}
        return {
            f"f:{name}": member(shape.below(value[name])) for name in charged(sorted_in_parts(value), _UNITS_PER_NAME)
        }


class DeducedShape(KeysShape):
    """Value without a declared type."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(self)


class ListShape(Shape):
    """Set or associative list: its items are owned separately, whatever their order."""

    __slots__ = ("item", "keys")
    is_leaf = False

    def __init__(self, type_: ListOf) -> None:
        super().__init__()
        self.keys = item_keys(type_)
        self.item = shape_of(type_.item)

    def at(self, element: str) -> Shape | None:
        return self.item

    def everything(self, value: Any) -> Node:
        if type(value) is not list or not value:
            return LEAF_NODE
        keys, shape = self.keys, self.item
        if len(value) == 1:
            item = value[0]
            return {SELF: LEAF_NODE, keys.element_of(item): LEAF_NODE if shape.is_leaf else shape.everything(item)}
        node: Node = {SELF: LEAF_NODE}
        ordered = keys.in_order(value)
        for item in charged(value if ordered is None else ordered, _UNITS_PER_NAME):
            element = keys.element_of(item)
            # A duplicate item is owned as a whole.
            node[element] = LEAF_NODE if shape.is_leaf or element in node else shape.everything(item)
        return in_order(node) if ordered is None else node

    def below(self, value: Any) -> Node:
        node: Node = {}
        if value.__class__ is not list:
            return node
        keys, shape = self.keys, self.item
        ordered = keys.in_order(value)
        for item in charged(value if ordered is None else ordered, _UNITS_PER_NAME):
            try:
                element = keys.element_of(item)
            except UnkeyedItemError:
                continue
            node[element] = {} if element in node else member(shape.below(item))
        return in_order(node) if ordered is None else node


def _owns_only_parts(shape: Shape, value: Any) -> bool:
    """Report whether the field itself is not owned: a list with separate items, or an object that is not empty.

    Upstream: structured-merge-diff ``typed/tofieldset.go``, ``visitMapItems``.
    """
    if value.__class__ is dict:
        return bool(value)
    return value.__class__ is list and isinstance(shape, ListShape)


def member(below: Node) -> Node:
    """Return a member node with these children."""
    return {SELF: {}, **below} if below else below


LEAF: Final = Shape()
#: A leaf that in another version of its type may have had parts.
WHOLE: Final = Shape(was_parts=True)
DEDUCED: Final = DeducedShape()
#: Kinds whose OpenAPI v3 definition has no ``type``: structured-merge-diff deduces their structure from each value
#: (``__untyped_deduced_``). ``IntOrString`` is one of them too, but its valid values are scalars only.
_DEDUCED_KINDS: Final = frozenset(
    {ScalarKind.ANY, ScalarKind.SCHEMA_OR_BOOL, ScalarKind.SCHEMA_OR_ARRAY, ScalarKind.SCHEMA_OR_STRINGS}
)
#: Kinds whose values may be of any JSON type.
_UNTYPED_KINDS: Final = _DEDUCED_KINDS | {ScalarKind.RAW}


def shape_of(type_: Type) -> Shape:
    """Return the shape of a type."""
    if isinstance(type_, Struct):
        return object_shape(type_)
    if isinstance(type_, Scalar):
        return _scalar_shape(type_.kind)
    if isinstance(type_, MapOf):
        return WHOLE if type_.atomic else KeysShape(shape_of(type_.value))
    return WHOLE if type_.list_type is ListType.ATOMIC else ListShape(type_)


def _scalar_shape(kind: ScalarKind) -> Shape:
    """Return the shape of a leaf type; ``RawExtension`` is ``__untyped_atomic_`` upstream.

    Upstream: kube-openapi ``pkg/schemaconv``, ``parseSchema`` and ``ToSchemaFromOpenAPI``.
    """
    if kind in _DEDUCED_KINDS:
        return DEDUCED
    return WHOLE if kind is ScalarKind.RAW else LEAF


def object_shape(struct: Struct) -> Shape:
    """Return the shape of a struct; one without fields takes any."""
    shape: Shape | None = struct.shape
    if shape is None:
        shape = struct.shape = _shape_of_struct(struct)
    return shape


def _shape_of_struct(struct: Struct) -> Shape:
    if struct.atomic:
        return WHOLE
    return FieldsShape(struct) if struct.fields else DEDUCED


def root_shape(struct: Struct) -> ObjectShape:
    """Return the shape of a whole object."""
    shape = object_shape(struct)
    return shape if isinstance(shape, ObjectShape) else DEDUCED


def is_strict(struct: Struct) -> bool:
    """Report whether every value below is typed, so that ``1`` can never turn into ``true`` undetected."""
    strict = struct.is_strict
    if strict is None:
        strict = struct.is_strict = not _holds_anything(struct, set())
    return strict


def _holds_anything(type_: Type, seen: set[int]) -> bool:
    if isinstance(type_, Scalar):
        return type_.kind in _UNTYPED_KINDS
    if isinstance(type_, ListOf):
        return _holds_anything(type_.item, seen)
    if isinstance(type_, MapOf):
        return _holds_anything(type_.value, seen)
    if id(type_) in seen:
        return False
    seen.add(id(type_))
    if type_.preserve_unknown or not type_.fields:
        return True
    return any(_holds_anything(field.type, seen) for field in type_.fields.values() if field.name != "managedFields")
