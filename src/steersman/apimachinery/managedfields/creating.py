"""Fields owned by the creator of an object, cached by the object's outline.

The result depends on little more than field names, and clients create many objects of one form (ConfigMaps with one
key, Pods of one template). The *outline* has the names of fields, keys of maps, and the value of anything else (lists
with keys, fields without a declared type).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.bounded_cache import BoundedCache, Doorkeeper, digest
from steersman.apimachinery.codec import encode
from steersman.apimachinery.managedfields.compare import UNOWNED, UNOWNED_METADATA, compare_objects
from steersman.apimachinery.managedfields.fieldset import Node
from steersman.apimachinery.managedfields.shapes import FieldsShape, KeysShape, ObjectShape, Shape, root_shape
from steersman.apimachinery.managedfields.zero import zero_value

if TYPE_CHECKING:
    from steersman.apimachinery.managedfields.fieldset import Filter
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct

    #: Equal for objects whose creators own the same fields.
    Outline = tuple[Any, ...]

#: Bound of the cached field sets of one type.
_FIELDS_BYTES: Final = 2 * 1024 * 1024
#: Estimated cache size: a set node with its element, per character of its JSON.
_BYTES_PER_CHARACTER: Final = 12
#: Objects with larger maps are not cached: few share a form, and each would take much memory.
_KEYS_MAX: Final = 64
#: Larger values are part of the outline as a digest.
_TEXT_BYTES_MAX: Final = 64
#: Objects with longer outlines are not cached, either.
_OUTLINE_MAX: Final = 512
#: Enclose the fields of metadata and of structs, as others may have fields of the same names.
_BEGIN: Final = 0
_END: Final = 1


class Creation:
    """Owned fields of creators of one type, with everything precomputed that does not depend on the object."""

    __slots__ = ("_doorkeeper", "_fields_of_outlines", "_reset", "_shape", "_struct", "_zero")

    def __init__(self, struct: Struct, reset: Filter | None = None) -> None:
        """``reset`` removes fields that writers never own."""
        self._struct: Final = struct
        self._reset: Final = reset
        self._shape: Final = root_shape(struct)
        #: Fields of an object that do not influence ownership.
        self._zero: Final = zero_value(struct)
        #: Sets of fields are never mutated, so objects may share them.
        self._fields_of_outlines: Final = BoundedCache[Node](bytes_max=_FIELDS_BYTES, name="fields of new objects")
        self._doorkeeper: Final = Doorkeeper()

    def fields_of(self, new: Tree, cached_spec: object = None, *, is_first_of_spec: bool = False) -> Node:
        """Return the fields that the creator of ``new`` owns. Raises UnkeyedItemError.

        ``cached_spec`` represents the spec if it is already interned: one identity for equal specs. None:
        unknown. ``is_first_of_spec``: no earlier object had the spec, so the cache is skipped.
        """
        outline = None if is_first_of_spec else self._outline_of(new, cached_spec)
        if outline is None:
            return self._worked_out(new)
        fields = self._fields_of_outlines.get(outline)
        if fields is None:
            fields = self._worked_out(new)
            if self._doorkeeper.admits(outline):
                self._fields_of_outlines.put(outline, fields, _size_of(fields))
        return fields

    def _worked_out(self, new: Tree) -> Node:
        return creator_fields(new, self._struct, self._reset)

    def _outline_of(self, new: Tree, cached_spec: object) -> Outline | None:
        """Return the outline; None if the object should not be cached."""
        step, zero = self._shape.step, self._zero
        outline: list[Any] = [self]
        for name, value in new.items():
            if name in UNOWNED:
                continue
            if name == "spec" and cached_spec is not None:
                outline += (name, cached_spec)
                continue
            part = step(name)[1]
            if name == "metadata" and isinstance(part, ObjectShape) and value.__class__ is dict:
                # Metadata that every object has is never owned, so the comparison base does not matter.
                outline.append(_BEGIN)
                for field, inner in value.items():
                    if field not in UNOWNED_METADATA and not _add(outline, field, inner, part.step(field)[1]):
                        return None
                outline.append(_END)
            elif not _add(outline, name, value, part if name not in zero or _is_new(zero[name], value, part) else None):
                return None
        return tuple(outline)


def _is_new(old: Any, value: Any, shape: Shape) -> bool:
    """Report whether a field that the empty object has is owned as a field that it lacks. The field itself is not owned."""
    return bool(value != old and (shape.is_leaf or not old))


def _add(outline: list[Any], name: str, value: Any, shape: Shape | None) -> bool:
    """Add a field to the outline; its value if it has no shape. Report whether the object may be cached."""
    if shape is None:
        pass
    elif shape.is_leaf:
        outline.append(name)
        return True
    elif isinstance(shape, FieldsShape) and value.__class__ is dict:
        outline += (name, _BEGIN)
        for field, inner in value.items():
            if not _add(outline, field, inner, shape.step(field)[1]):
                return False
        outline.append(_END)
        return len(outline) <= _OUTLINE_MAX
    elif shape.__class__ is KeysShape and shape.value.is_leaf and value.__class__ is dict:
        outline += (name, tuple(value))
        return len(value) <= _KEYS_MAX
    text = encode(value)
    outline += (name, text if len(text) <= _TEXT_BYTES_MAX else digest(text))
    return True


def _size_of(fields: Node) -> int:
    return _BYTES_PER_CHARACTER * len(encode(fields))


def creator_fields(new: Tree, struct: Struct, reset: Filter | None = None) -> Node:
    """Return the fields that the creator of an object owns, computed without a cache. Raises UnkeyedItemError."""
    fields = compare_objects(zero_value(struct), new, struct).changed
    return fields if reset is None else reset(fields)
