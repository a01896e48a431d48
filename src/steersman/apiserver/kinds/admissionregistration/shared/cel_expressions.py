"""Expressions of policies and match conditions are compiled when they are written, and refused with the compiler's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.cel.admission import Compiler, Purpose


class PolicyExpressions:
    """The expressions of one policy. The compiler is loaded with the first of them: start-up time counts."""

    def __init__(self, spec: Tree) -> None:
        self._has_params: Final = spec.get("paramKind") is not None
        self._composed: Final = bool(spec.get("variables"))
        self._compiler: Compiler | None = None

    @property
    def compiler(self) -> Compiler:
        """What compiles them, with the variables seen so far."""
        if self._compiler is None:
            from steersman.cel.admission import Compiler  # noqa: PLC0415 — loaded with the first expression

            self._compiler = Compiler(params=self._has_params, composed=self._composed)
        return self._compiler

    def variable(self, name: str, expression: str, path: Path, *, makes_objects: bool = False) -> Iterator[FieldError]:
        """A variable, which the expressions after it may use."""
        from steersman.cel import admission  # noqa: PLC0415 — loaded with the first expression

        purpose = admission.MUTATION_VARIABLE if makes_objects else admission.VARIABLE
        try:
            self.compiler.add_variable(name, expression, purpose)
        except admission.ExpressionError as error:
            yield field.invalid(path, expression, str(error))

    def condition(self, expression: str, path: Path) -> Iterator[FieldError]:
        """What must hold."""
        from steersman.cel.admission import CONDITION  # noqa: PLC0415 — loaded with the first expression

        yield from self._check(expression, path, CONDITION)

    def message(self, expression: str, path: Path) -> Iterator[FieldError]:
        """What is told if a condition does not hold; the authorizer is not asked for that."""
        from steersman.cel.admission import MESSAGE  # noqa: PLC0415 — loaded with the first expression

        yield from self._check(expression, path, MESSAGE, authorizer=False)

    def audit_annotation(self, expression: str, path: Path) -> Iterator[FieldError]:
        """What is noted for the audit log."""
        from steersman.cel.admission import AUDIT_ANNOTATION  # noqa: PLC0415 — loaded with the first expression

        yield from self._check(expression, path, AUDIT_ANNOTATION)

    def mutation(self, expression: str, path: Path, *, patch_type: str) -> Iterator[FieldError]:
        """What an object is changed by."""
        from steersman.cel.admission import APPLY_CONFIGURATION, JSON_PATCH  # noqa: PLC0415 — loaded with the first expression

        purpose = APPLY_CONFIGURATION if patch_type == "ApplyConfiguration" else JSON_PATCH
        yield from self._check(expression, path, purpose)

    def _check(self, expression: str, path: Path, purpose: Purpose, *, authorizer: bool = True) -> Iterator[FieldError]:
        from steersman.cel.admission import ExpressionError  # noqa: PLC0415 — loaded with the first expression

        try:
            self.compiler.compile(expression, purpose, authorizer=authorizer)
        except ExpressionError as error:
            yield field.invalid(path, expression, str(error))


def check_match_condition(expression: str, path: Path, *, has_params: bool) -> Iterator[FieldError]:
    """A condition under which a request is looked at; variables are not there yet."""
    spec: Tree = {"paramKind": {}} if has_params else {}
    yield from PolicyExpressions(spec).condition(expression.strip(), path)
