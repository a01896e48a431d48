"""Type checking of ValidatingAdmissionPolicy expressions against the matched kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.cel.admission import VARIABLE, Compiler, ExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.cel.types import Type


_FAILED = "compilation failed: "


def expression_warnings(spec: Tree, kinds: Sequence[tuple[str, Type]], params: Type | None) -> list[dict[str, str]]:
    """Return ``status.typeChecking.expressionWarnings`` of a policy.

    ``kinds`` are the matched ones, each with its name (``apps/v1, Kind=Deployment``), sorted. ``params`` is the type of
    its parameters; if it is None, ``params`` is not declared, even if the policy has a ``paramKind``.
    """
    warnings: list[dict[str, str]] = []
    for position, validation in enumerate(spec.get("validations") or ()):
        for name in ("expression", "messageExpression"):
            expression = validation.get(name)
            messages = "\n".join(_type_errors(expression, spec, kinds, params)) if expression else ""
            if messages:
                warnings.append({"fieldRef": f"spec.validations[{position}].{name}", "warning": messages})
    return warnings


def _type_errors(expression: str, spec: Tree, kinds: Sequence[tuple[str, Type]], params: Type | None) -> list[str]:
    """Return the type errors of an expression by kind."""
    messages: list[str] = []
    for kind, type_ in kinds:
        typed = {"object": type_, "oldObject": type_, **({} if params is None else {"params": params})}
        compiler = Compiler(params=params is not None, composed=True, typed=typed)
        for variable in spec.get("variables") or ():
            compiler.try_variable(variable["name"], variable["expression"])
        try:
            compiler.check(expression, VARIABLE)
        except ExpressionError as error:
            messages.append(f"{kind}: {str(error).removeprefix(_FAILED)}\n")
    return messages
