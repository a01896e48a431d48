"""What the creator of an object owns: everything, which depends on little more than the names of the object's fields.

Clients create objects of the same form again and again (ConfigMaps with one key, pods of one template), so the answer is
remembered by an *outline*: of leaves the name, of maps the keys, of all else (specs, lists with keys) what it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import encode
from steersman.apimachinery.managedfields.compare import UNOWNED, UNOWNED_METADATA, compare_objects
from steersman.apimachinery.managedfields.fieldset import Node
from steersman.apimachinery.managedfields.shapes import KeysShape, ObjectShape, Shape, root_shape
from steersman.apimachinery.managedfields.zero import zero_value
from steersman.apimachinery.remembering import Doorkeeper, Remembered, digest

if TYPE_CHECKING:
    from steersman.apimachinery.managedfields.fieldset import Filter
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct

    #: Equal for objects whose creators own the same.
    Outline = tuple[Any, ...]

#: Bound of the fields that are kept for one type.
_FIELDS_BYTES: Final = 2 * 1024 * 1024
#: An estimate, as of all caches: a node of a set of fields with its element, for a character of it as JSON.
_BYTES_PER_CHARACTER: Final = 12
#: Objects with larger maps are not remembered: there are few of a form, and each would take much memory.
_KEYS_MAX: Final = 64
#: Larger values stand in the outline as a digest.
_TEXT_BYTES_MAX: Final = 64
#: Around the fields of metadata, as the object itself may have fields of these names.
_BEGIN: Final = 0
_END: Final = 1


class Creation:
    """What creators of objects of one type own, with all that can be worked out before an object comes."""

    __slots__ = ("_doorkeeper", "_fields_of_outlines", "_reset", "_shape", "_struct", "_zero")

    def __init__(self, struct: Struct, reset: Filter | None = None) -> None:
        """``reset`` takes away what is not owned by whoever writes it."""
        self._struct: Final = struct
        self._reset: Final = reset
        self._shape: Final = root_shape(struct)
        #: What an object has that says nothing.
        self._zero: Final = zero_value(struct)
        #: Sets of fields are never changed, so objects may share them.
        self._fields_of_outlines: Final = Remembered[Node](bytes_max=_FIELDS_BYTES, name="fields of new objects")
        self._doorkeeper: Final = Doorkeeper()

    def fields_of(self, new: Tree, known_spec: object = None) -> Node:
        """What a creator owns of an object. Raises UnkeyedItemError.

        ``known_spec`` stands for its spec, where that has been told from all others already: the same object for equal
        ones. None: nobody knows it.
        """
        outline = self._outline_of(new, known_spec)
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

    def _outline_of(self, new: Tree, known_spec: object) -> Outline | None:
        """None when the object is none that should be remembered."""
        step, zero = self._shape.step, self._zero
        outline: list[Any] = [self]
        for name, value in new.items():
            if name in UNOWNED:
                continue
            if name == "spec" and known_spec is not None:
                outline += (name, known_spec)
                continue
            part = step(name)[1]
            if name == "metadata" and isinstance(part, ObjectShape) and value.__class__ is dict:
                # Nothing that every object's metadata has is owned, so what it is compared with does not count.
                outline.append(_BEGIN)
                for field, inner in value.items():
                    if field not in UNOWNED_METADATA and not _add(outline, field, inner, part.step(field)[1]):
                        return None
                outline.append(_END)
            elif not _add(outline, name, value, None if name in zero else part):
                return None
        return tuple(outline)


def _add(outline: list[Any], name: str, value: Any, shape: Shape | None) -> bool:
    """Add a field; without a shape, as what it holds. Whether the object may be remembered."""
    if shape is None:
        pass
    elif shape.is_leaf:
        outline.append(name)
        return True
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
