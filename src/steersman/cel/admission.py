"""What expressions of admission policies and match conditions may refer to, and what they must come to."""

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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.cel.types import Type

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
    """What an expression is for: the types that its value may have."""

    returns: tuple[Type, ...]
    #: Whether objects may be made (``Object{…}``, ``JSONPatch{…}``).
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
    """The variables of admission: ``object``, ``oldObject``, ``request``, ``namespaceObject``, and some if asked for."""
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
        variables=variables, functions=jsonpatch.functions(), resolve_type=jsonpatch.resolve_type
    )


class ExpressionError(Exception):
    """An expression cannot be used; the text is what the writer is told."""


class Compiler:
    """Compiles the expressions of one policy, which may use each other's variables."""

    def __init__(self, *, params: bool, composed: bool, typed: Mapping[str, Type] | None = None) -> None:
        """``typed``: variables of which more is known than that they are objects."""
        self._params: Final = params
        self._typed: Final = typed or {}
        self._fields: dict[str, Type] | None = {} if composed else None

    def add_variable(self, name: str, expression: str, purpose: Purpose = VARIABLE) -> Program:
        """Compile a variable; those after it can use it, even if it does not compile. Raises ExpressionError."""
        fields = self._fields if self._fields is not None else {}
        try:
            program = self.compile(expression, purpose)
        except ExpressionError:
            fields[name] = t.DYN
            raise
        fields[name] = _declared(program.type)
        return program

    def try_variable(self, name: str, expression: str) -> None:
        """Compile a variable for those after it; what is wrong with it is told elsewhere."""
        with suppress(ExpressionError):
            self.add_variable(name, expression)

    def compile(self, expression: str, purpose: Purpose, *, authorizer: bool = True) -> Program:
        """Raises ExpressionError."""
        env = environment(params=self._params, authorizer=authorizer, makes_objects=purpose.makes_objects)
        more = dict(self._typed)
        if self._fields is not None:
            more["variables"] = t.object_type("kubernetes.variables", dict(self._fields))
        if more:
            env = env.extended(variables=more)
        try:
            program = compile_expression(expression, env)
        except CompileError as error:
            raise ExpressionError(f"compilation failed: {error}") from None
        if purpose.returns and program.type not in purpose.returns:
            raise ExpressionError(_wrong_type(purpose.returns, program.type))
        return program


def _wrong_type(wanted: Sequence[Type], given: Type) -> str:
    if len(wanted) == 1:
        return f"must evaluate to {wanted[0]} but got {given}"
    return f"must evaluate to one of [{' '.join(map(str, wanted))}] but got {given}"


_PLAIN: Final = ("bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint")


def _declared(type_: Type) -> Type:
    """The type of a variable for the expressions that use it: those of libraries and objects are not kept."""
    if type_.kind in _PLAIN:
        return type_
    params = [_declared(param) for param in type_.params]
    if type_.kind == "list":
        return t.list_of(*params)
    return t.map_of(*params) if type_.kind == "map" else t.DYN
