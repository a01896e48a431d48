"""Structural schemas prepared for walks over objects.

A walk visits the fields of the object, not those of the schema, and skips what has no default or embedded object below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


class Shape:
    """One node of a structural schema."""

    __slots__ = (
        "default",
        "defaults",
        "has_defaults",
        "has_embedded",
        "has_others",
        "is_embedded",
        "is_nullable",
        "items",
        "others",
        "preserves_unknown",
        "properties",
    )

    def __init__(self, schema: Tree) -> None:
        #: Default of the node itself; None without one.
        self.default: Final[Any] = schema.get("default")
        self.is_nullable: Final = bool(schema.get("nullable"))
        #: True for an embedded object (``x-kubernetes-embedded-resource``).
        self.is_embedded: Final = bool(schema.get("x-kubernetes-embedded-resource"))
        #: True if unknown fields are kept (``x-kubernetes-preserve-unknown-fields``).
        self.preserves_unknown: Final = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        self.properties: Final[dict[str, Shape]] = {
            name: Shape(below) for name, below in (schema.get("properties") or {}).items()
        }
        #: True with ``additionalProperties``, be it a schema or a boolean.
        self.has_others: Final = schema.get("additionalProperties") is not None
        self.others: Final[Shape | None] = _shape_of(schema.get("additionalProperties"))
        self.items: Final[Shape | None] = _shape_of(schema.get("items"))
        #: Defaults of properties, in the schema's order.
        self.defaults: Final = [
            (name, below.default) for name, below in self.properties.items() if below.default is not None
        ]
        below = [*self.properties.values(), *(child for child in (self.others, self.items) if child is not None)]
        #: True if fields at or below the value have defaults.
        self.has_defaults: Final[bool] = bool(self.defaults) or any(child.has_defaults for child in below)
        #: True if the node or one below it is an embedded object.
        self.has_embedded: Final[bool] = self.is_embedded or any(child.has_embedded for child in below)


def _shape_of(schema: Any) -> Shape | None:
    return Shape(schema) if isinstance(schema, dict) else None
