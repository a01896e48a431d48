"""What the creator of an object owns: everything, which depends on little more than the names of the object's fields.

Clients create objects of the same form again and again (ConfigMaps with one key, pods of one template), so the answer is
remembered by an *outline*: of leaves the name, of maps the keys, of all else (specs, lists with keys) what it holds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import encode
from steersman.apimachinery.managedfields.compare import UNOWNED, UNOWNED_METADATA, compare_objects
from steersman.apimachinery.managedfields.fieldset import Node, in_order
from steersman.apimachinery.managedfields.shapes import KeysShape, ObjectShape, Shape, root_shape
from steersman.apimachinery.managedfields.zero import zero_value
from steersman.apimachinery.remembering import Remembered, digest, digest_of

if TYPE_CHECKING:
    from steersman.apimachinery.managedfields.fieldset import Filter
    from steersman.apimachinery.typemodel import Struct

    Tree = dict[str, Any]
    #: Equal for objects whose creators own the same.
    Outline = tuple[Any, ...]

#: What creators own of outlines and of specs that were met before. Sets of fields are never changed, so objects may
#: share them.
_fields_of_outlines: Final = Remembered[Node]()
_fields_of_specs: Final = Remembered[Node]()
#: Objects with larger maps are not remembered: there are few of a form, and each would take much memory.
_KEYS_MAX: Final = 64
#: Larger values stand in the outline as a digest.
_TEXT_BYTES_MAX: Final = 64
#: Around the fields of metadata, as the object itself may have fields of these names.
_BEGIN: Final = 0
_END: Final = 1


class Creation:
    """What creators of objects of one type own, with all that can be worked out before an object comes."""

    __slots__ = ("_reset", "_shape", "_struct", "_zero")

    def __init__(self, struct: Struct, reset: Filter | None = None) -> None:
        """``reset`` takes away what is not owned by whoever writes it."""
        self._struct: Final = struct
        self._reset: Final = reset
        self._shape: Final = root_shape(struct)
        #: What an object has that says nothing.
        self._zero: Final = zero_value(struct)

    def fields_of(self, new: Tree, known_spec: object = None) -> Node:
        """What a creator owns of an object. Raises UnkeyedItemError.

        ``known_spec`` stands for its spec, where that has been told from all others already: the same object for equal
        ones. None: nobody knows it.
        """
        outline = self._outline_of(new, known_spec)
        if outline is None:
            return self._worked_out(new)
        fields = _fields_of_outlines.get(outline)
        if fields is None:
            fields = self._worked_out(new)
            _fields_of_outlines.put(outline, fields)
        return fields

    def _worked_out(self, new: Tree) -> Node:
        fields = _fields(self._zero, new, self._struct)
        return fields if self._reset is None else self._reset(fields)

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


@lru_cache(maxsize=1024)
def creation_of(struct: Struct, reset: Filter | None) -> Creation:
    """The same for a type and a filter each time."""
    return Creation(struct, reset)


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


def _fields(zero: Tree, new: Tree, struct: Struct) -> Node:
    """As a comparison has it; of specs, which come with other names and labels again, it is remembered by itself."""
    spec = new.get("spec")
    if spec.__class__ is not dict:
        return compare_objects(zero, new, struct).changed
    key = (struct, digest_of(spec))
    of_spec = _fields_of_specs.get(key)
    if of_spec is None:
        before = {"spec": zero["spec"]} if "spec" in zero else {}
        of_spec = compare_objects(before, {"spec": spec}, struct).changed
        _fields_of_specs.put(key, of_spec)
    rest = {name: value for name, value in new.items() if name != "spec"}
    of_rest = compare_objects({name: value for name, value in zero.items() if name != "spec"}, rest, struct).changed
    return in_order({**of_rest, **of_spec})
