"""What the creator of an object owns: everything, which depends on little more than the names of the object's fields.

Clients create objects of the same form again and again (ConfigMaps with one key, pods of one template), so the answer is
remembered by an *outline*: of leaves the name, of maps the keys, of all else (specs, lists with keys) what it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import encode
from steersman.apimachinery.managedfields.compare import UNOWNED, UNOWNED_METADATA, compare_objects
from steersman.apimachinery.managedfields.fieldset import Node, in_order
from steersman.apimachinery.managedfields.shapes import KeysShape, ObjectShape, Shape, root_shape
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


def fields_of_new(zero: Tree, new: Tree, struct: Struct, reset: Filter | None = None) -> Node:
    """What a creator owns of an object; ``zero`` is what an object has that says nothing. Raises UnkeyedItemError.

    ``reset`` takes away what is not owned by whoever writes it; it must be the same function each time.
    """
    outline = _outline_of(zero, new, struct, reset)
    fields = None if outline is None else _fields_of_outlines.get(outline)
    if fields is None:
        fields = _fields(zero, new, struct)
        if reset is not None:
            fields = reset(fields)
        if outline is not None:
            _fields_of_outlines.put(outline, fields)
    return fields


def _outline_of(zero: Tree, new: Tree, struct: Struct, reset: Filter | None) -> Outline | None:
    """None when the object is none that should be remembered."""
    shape = root_shape(struct)
    outline: list[Any] = [struct, reset]
    for name, value in new.items():
        if name in UNOWNED:
            continue
        part = shape.step(name)[1]
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


def _fields(zero: Tree, new: Tree, struct: Struct) -> Node:
    """As ``fields_of_new``; of specs, which come with other names and labels again, it is remembered by itself."""
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
