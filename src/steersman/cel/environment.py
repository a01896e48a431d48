"""Environments: the variables, functions and types that an expression may use."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from steersman.cel import types as t
from steersman.cel.functions import Function, merge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.cel.types import Type

_BASIC_TYPES: Final = {
    "bool": t.BOOL,
    "bytes": t.BYTES,
    "double": t.DOUBLE,
    "int": t.INT,
    "string": t.STRING,
    "uint": t.UINT,
    "null_type": t.NULL,
    "list": t.LIST_DYN,
    "map": t.MAP_DYN,
    "type": t.TYPE,
    "google.protobuf.Timestamp": t.TIMESTAMP,
    "google.protobuf.Duration": t.DURATION,
    "optional_type": t.optional_of(t.DYN),
}


class Environment:
    """Immutable set of declarations; ``extended`` returns a larger one."""

    __slots__ = ("bindings", "functions", "resolve_type", "types", "variables")

    def __init__(
        self,
        *,
        variables: Mapping[str, Type],
        functions: Mapping[str, Function],
        types: Mapping[str, Type] | None = None,
        resolve_type: Callable[[str], Type | None] | None = None,
        bindings: bool = False,
    ) -> None:
        self.variables: Final = variables
        self.functions: Final = functions
        self.types: Final = {**_BASIC_TYPES, **(types or {})}
        #: Resolver of types by name.
        self.resolve_type: Final = resolve_type
        #: True if ``cel.bind`` is enabled.
        self.bindings: Final = bindings

    def type_named(self, name: str) -> Type | None:
        """Return the type with this name, or None."""
        registered = self.types.get(name)
        if registered is None and self.resolve_type is not None:
            return self.resolve_type(name)
        return registered

    def extended(
        self,
        *,
        variables: Mapping[str, Type] | None = None,
        functions: Sequence[Function] = (),
        types: Mapping[str, Type] | None = None,
        resolve_type: Callable[[str], Type | None] | None = None,
        bindings: bool = False,
    ) -> Environment:
        """Return a copy with additional declarations."""
        return Environment(
            variables={**self.variables, **(variables or {})},
            functions=merge(self.functions.values(), functions) if functions else self.functions,
            types={**self.types, **(types or {})},
            resolve_type=resolve_type or self.resolve_type,
            bindings=bindings or self.bindings,
        )


@cache
def kubernetes() -> Environment:
    """Return the base environment of Kubernetes 1.36 (``environment.MustBaseEnvSet``)."""
    from steersman.cel import regex, standard  # noqa: PLC0415 — tables that are made once, when first needed
    from steersman.cel.library import (  # noqa: PLC0415
        authorizer,
        formats,
        list_extension,
        lists,
        network,
        optional,
        quantities,
        semver,
        sets,
        strings,
        urls,
    )

    libraries = (
        standard,
        regex,
        urls,
        lists,
        list_extension,
        authorizer,
        optional,
        quantities,
        strings,
        sets,
        network,
        formats,
        semver,
    )
    functions = merge(*(library.functions() for library in libraries))
    types: dict[str, Type] = {}
    for library in (urls, authorizer, quantities, network, formats, semver):
        types |= library.TYPES
    return Environment(variables={}, functions=functions, types=types)
