"""What the status of a validating policy tells of its expressions, checked against the types of what it matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.cel.admission import VARIABLE, Compiler, ExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.cel.types import Type

    Tree = dict[str, Any]

#: Kinds that one policy is checked against.
TYPES_MAX = 10
_FAILED = "compilation failed: "


def expression_warnings(spec: Tree, kinds: Sequence[tuple[str, Type]], params: Type | None) -> list[dict[str, str]]:
    """``status.typeChecking.expressionWarnings`` of a policy.

    ``kinds`` are those that it matches, at most ``TYPES_MAX``, each with the text that names it
    (``apps/v1, Kind=Deployment``), sorted; ``params`` is the type of its parameters, None without any.
    """
    found: list[dict[str, str]] = []
    for position, validation in enumerate(spec.get("validations") or ()):
        for name in ("expression", "messageExpression"):
            expression = validation.get(name)
            told = "\n".join(_told(expression, spec, kinds, params)) if expression else ""
            if told:
                found.append({"fieldRef": f"spec.validations[{position}].{name}", "warning": told})
    return found


def _told(expression: str, spec: Tree, kinds: Sequence[tuple[str, Type]], params: Type | None) -> list[str]:
    """What is wrong with an expression, for each kind."""
    told: list[str] = []
    for kind, type_ in kinds[:TYPES_MAX]:
        typed = {"object": type_, "oldObject": type_, **({} if params is None else {"params": params})}
        compiler = Compiler(params=params is not None, composed=True, typed=typed)
        for variable in spec.get("variables") or ():
            compiler.try_variable(variable["name"], variable["expression"])
        try:
            compiler.compile(expression, VARIABLE)
        except ExpressionError as error:
            told.append(f"{kind}: {str(error).removeprefix(_FAILED)}\n")
    return told
