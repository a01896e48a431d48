"""Schema of one version of a custom resource, decoded and compiled on first use.

Most definitions of a cluster are never written to: until then, only the bytes of the definition are in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.object_rules import ObjectRules
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape
from steersman.schema.openapi_acceptance import Acceptor
from steersman.schema.openapi_types import from_openapi

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct


class LazySchema:
    """Structural schema; compared by identity. Its forms may be used from any thread: two that build one get equal ones."""

    __slots__ = ("_acceptor", "_has_defaults", "_kind", "_rules", "_shape", "_struct", "_tree", "load")

    def __init__(self, load: Callable[[], Tree], kind: str) -> None:
        #: Returns the schema without keeping it.
        self.load: Final = load
        self._has_defaults: bool | None = None
        self._kind: Final = kind
        self._tree: Tree | None = None
        self._struct: Struct | None = None
        self._shape: Shape | None = None
        self._acceptor: Acceptor | None = None
        self._rules: ObjectRules | None = None

    @property
    def tree(self) -> Tree:
        """Return the schema, which must not be changed."""
        tree = self._tree
        if tree is None:
            tree = self._tree = self.load()
        return tree

    @property
    def has_defaults(self) -> bool:
        """True if the schema has defaults."""
        has_defaults = self._has_defaults
        if has_defaults is None:
            has_defaults = self._has_defaults = _has_defaults(self._tree or self.load())
        return has_defaults

    @property
    def struct(self) -> Struct:
        """Return the type, for field ownership."""
        struct = self._struct
        if struct is None:
            struct = self._struct = from_openapi(self.tree, self._kind)
        return struct

    def load_struct(self) -> Struct:
        """Return ``struct``, as a function."""
        return self.struct

    @property
    def shape(self) -> Shape:
        """Return the form for pruning, defaulting and dropping of nulls."""
        shape = self._shape
        if shape is None:
            shape = self._shape = Shape(self.tree)
        return shape

    @property
    def acceptor(self) -> Acceptor:
        """Return the form that recognizes valid objects."""
        acceptor = self._acceptor
        if acceptor is None:
            acceptor = self._acceptor = Acceptor(self.tree)
        return acceptor

    @property
    def rules(self) -> ObjectRules:
        """Return the CEL rules."""
        rules = self._rules
        if rules is None:
            rules = self._rules = ObjectRules(self.tree)
        return rules


def _has_defaults(schema: Any) -> bool:
    """True if fields of a schema have defaults."""
    if not isinstance(schema, dict):
        return False
    properties = (schema.get("properties") or {}).values()
    if any(below.get("default") is not None or _has_defaults(below) for below in properties):
        return True
    return any(_has_defaults(schema.get(name)) for name in ("items", "additionalProperties"))
