"""CEL environments of admission policies and match conditions: variables, result types and compilation."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.cel import types as t
from steersman.cel.environment import Environment, kubernetes
from steersman.cel.library import jsonpatch
from steersman.cel.library.authorizer import AUTHORIZER, RESOURCE_CHECK
from steersman.cel.program import Program, compile_expression
from steersman.cel.source import CompileError
from steersman.cel.types import Type  # noqa: TC001 — a field of a named tuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STRINGS: Final = t.list_of(t.STRING)
_TEXTS: Final = t.map_of(t.STRING, t.STRING)


def _strings(*names: str) -> dict[str, Type]:
    return dict.fromkeys(names, t.STRING)


def _request_type() -> Type:
    kind = t.object_type("kubernetes.GroupVersionKind", _strings("group", "version", "kind"))
    resource = t.object_type("kubernetes.GroupVersionResource", _strings("group", "version", "resource"))
    extra = t.map_of(t.STRING, _STRINGS)
    user = t.object_type("kubernetes.UserInfo", {**_strings("username", "uid"), "groups": _STRINGS, "extra": extra})
    names = ("subResource", "requestSubResource", "name", "namespace", "operation")
    return t.object_type(
        "kubernetes.AdmissionRequest",
        {
            **_strings(*names),
            "kind": kind,
            "requestKind": kind,
            "resource": resource,
            "requestResource": resource,
            "userInfo": user,
            "dryRun": t.BOOL,
            "options": t.DYN,
        },
    )


def _namespace_type() -> Type:
    condition = t.object_type(
        "kubernetes.NamespaceCondition",
        {**_strings("status", "type", "message", "reason"), "lastTransitionTime": t.TIMESTAMP},
    )
    metadata = {
        **_strings("name", "generateName", "namespace", "UID", "resourceVersion"),
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "creationTimestamp": t.TIMESTAMP,
        "deletionGracePeriodSeconds": t.INT,
        "deletionTimestamp": t.TIMESTAMP,
        "generation": t.INT,
        "finalizers": _STRINGS,
    }
    status = {"conditions": t.list_of(condition), "phase": t.STRING}
    return t.object_type(
        "kubernetes.Namespace",
        {
            "metadata": t.object_type("kubernetes.NamespaceMetadata", metadata),
            "spec": t.object_type("kubernetes.NamespaceSpec", {"finalizers": _STRINGS}),
            "status": t.object_type("kubernetes.NamespaceStatus", status),
        },
    )


class Purpose(NamedTuple):
    """Role of an expression, with the types that its value may have."""

    returns: tuple[Type, ...]
    #: True if ``Object{…}`` and ``JSONPatch{…}`` may be constructed.
    makes_objects: bool = False


CONDITION: Final = Purpose((t.BOOL,))
MESSAGE: Final = Purpose((t.STRING,))
AUDIT_ANNOTATION: Final = Purpose((t.STRING, t.NULL))
VARIABLE: Final = Purpose(())
MUTATION_VARIABLE: Final = Purpose((), makes_objects=True)
APPLY_CONFIGURATION: Final = Purpose((t.object_type("Object", {}),), makes_objects=True)
JSON_PATCH: Final = Purpose((t.list_of(jsonpatch.JSON_PATCH),), makes_objects=True)


@cache
def environment(*, params: bool, authorizer: bool, makes_objects: bool = False) -> Environment:
    """Return the admission environment: ``object``, ``oldObject``, ``request``, ``namespaceObject`` and the requested
    options.
    """
    variables: dict[str, Type] = {
        "object": t.DYN,
        "oldObject": t.DYN,
        "namespaceObject": _namespace_type(),
        "request": _request_type(),
    }
    if params:
        variables["params"] = t.DYN
    if authorizer:
        variables["authorizer"] = AUTHORIZER
        variables["authorizer.requestResource"] = RESOURCE_CHECK
    if not makes_objects:
        return kubernetes().extended(variables=variables)
    return kubernetes().extended(
        variables=variables, functions=tuple(jsonpatch.functions()), resolve_type=jsonpatch.resolve_type
    )


class ExpressionError(Exception):
    """An expression does not compile; the message is for the user."""

    def __init__(self, detail: str, *, is_internal: bool = False) -> None:
        """``is_internal``: upstream reports an internal error, not an invalid value."""
        super().__init__(detail)
        self.is_internal: Final = is_internal


class Compiler:
    """Compiler for the expressions of one policy, which share its variables."""

    def __init__(self, *, params: bool, composed: bool, typed: Mapping[str, Type] | None = None) -> None:
        """``typed``: variables with a known type; others are dynamic objects."""
        self._params: Final = params
        self._typed: Final = typed or {}
        self._fields: dict[str, Type] | None = {} if composed else None
        #: By whether there is an authorizer, and whether expressions make objects. Variables are added to ``_fields``.
        self._environments: Final[dict[tuple[bool, bool], Environment]] = {}

    def add_variable(self, name: str, expression: str, purpose: Purpose = VARIABLE) -> Program:
        """Compile a variable and declare it for later expressions, even if it is invalid. Raises ExpressionError."""
        fields = self._fields if self._fields is not None else {}
        try:
            program = self.compile(expression, purpose)
        except ExpressionError:
            fields[name] = t.DYN
            raise
        fields[name] = _declared(program.type)
        return program

    def try_variable(self, name: str, expression: str) -> None:
        """Compile a variable and ignore its errors, which are reported elsewhere."""
        with suppress(ExpressionError):
            self.add_variable(name, expression)

    def _environment(self, purpose: Purpose, *, authorizer: bool) -> Environment:
        key = (authorizer, purpose.makes_objects)
        cached = self._environments.get(key)
        if cached is None:
            cached = environment(params=self._params, authorizer=authorizer, makes_objects=purpose.makes_objects)
            more = dict(self._typed)
            if self._fields is not None:
                more["variables"] = t.object_type("kubernetes.variables", self._fields)
            if more:
                cached = cached.extended(variables=more)
            self._environments[key] = cached
        return cached

    def compile(self, expression: str, purpose: Purpose, *, authorizer: bool = True) -> Program:
        """Compile an expression. Raises ExpressionError."""
        program = self.check(expression, purpose, authorizer=authorizer)
        if program.instantiation_error:
            detail = f"program instantiation failed: {program.instantiation_error}"
            raise ExpressionError(detail, is_internal=True)
        return program

    def check(self, expression: str, purpose: Purpose, *, authorizer: bool = True) -> Program:
        """Compile an expression without errors of its instantiation. Raises ExpressionError."""
        try:
            program = compile_expression(expression, self._environment(purpose, authorizer=authorizer))
        except CompileError as error:
            raise ExpressionError(f"compilation failed: {error}") from None
        if purpose.returns and program.type not in purpose.returns:
            raise ExpressionError(_wrong_type(purpose.returns, program.type))
        return program


def _wrong_type(expected: Sequence[Type], actual: Type) -> str:
    if len(expected) == 1:
        return f"must evaluate to {expected[0]} but got {actual}"
    return f"must evaluate to one of [{' '.join(map(str, expected))}] but got {actual}"


_PLAIN: Final = ("bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint")


def _declared(type_: Type) -> Type:
    """Return the declared type of a variable; library and object types become ``dyn``."""
    if type_.kind in _PLAIN:
        return type_
    params = [_declared(param) for param in type_.params]
    if type_.kind == "list":
        return t.list_of(*params)
    return t.map_of(*params) if type_.kind == "map" else t.DYN
