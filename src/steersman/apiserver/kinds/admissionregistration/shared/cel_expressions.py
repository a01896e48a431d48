"""Compilation of CEL expressions of policies and match conditions during validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.cel.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.cel.admission import Compiler, ExpressionError, Purpose


class PolicyExpressions:
    """Expressions of one policy. The CEL compiler is imported with the first one, to keep start-up short."""

    def __init__(self, spec: Tree) -> None:
        load()
        self._has_params: Final = spec.get("paramKind") is not None
        self._composed: Final = bool(spec.get("variables"))
        self._compiler: Compiler | None = None

    @property
    def compiler(self) -> Compiler:
        """Return a compiler that declares the variables added so far."""
        if self._compiler is None:
            from steersman.cel.admission import Compiler  # noqa: PLC0415 — loaded with the first expression

            self._compiler = Compiler(params=self._has_params, composed=self._composed)
        return self._compiler

    def variable(self, name: str, expression: str, path: Path, *, makes_objects: bool = False) -> Iterator[FieldError]:
        """Validate a variable and declare it for later expressions."""
        from steersman.cel import admission  # noqa: PLC0415 — loaded with the first expression

        purpose = admission.MUTATION_VARIABLE if makes_objects else admission.VARIABLE
        try:
            self.compiler.add_variable(name, expression, purpose)
        except admission.ExpressionError as error:
            yield _error(error, path, expression)

    def condition(self, expression: str, path: Path) -> Iterator[FieldError]:
        """Validate a boolean condition."""
        from steersman.cel.admission import CONDITION  # noqa: PLC0415 — loaded with the first expression

        yield from self._check(expression, path, CONDITION)

    def message(self, expression: str, path: Path) -> Iterator[FieldError]:
        """Validate a message expression, which cannot use ``authorizer``."""
        from steersman.cel.admission import MESSAGE  # noqa: PLC0415 — loaded with the first expression

        yield from self._check(expression, path, MESSAGE, authorizer=False)

    def audit_annotation(self, expression: str, path: Path) -> Iterator[FieldError]:
        """Validate an audit annotation's ``valueExpression``, which is compiled without surrounding spaces."""
        from steersman.cel.admission import AUDIT_ANNOTATION  # noqa: PLC0415 — loaded with the first expression

        yield from self._check(expression.strip(), path, AUDIT_ANNOTATION, shown=expression)

    def mutation(self, expression: str, path: Path, *, patch_type: str) -> Iterator[FieldError]:
        """Validate the expression of a mutation."""
        from steersman.cel.admission import APPLY_CONFIGURATION, JSON_PATCH  # noqa: PLC0415 — loaded with the first expression

        purpose = APPLY_CONFIGURATION if patch_type == "ApplyConfiguration" else JSON_PATCH
        yield from self._check(expression, path, purpose)

    def _check(
        self, expression: str, path: Path, purpose: Purpose, *, authorizer: bool = True, shown: str = ""
    ) -> Iterator[FieldError]:
        """Compile an expression; errors show ``shown``, if set, as their value."""
        from steersman.cel.admission import ExpressionError  # noqa: PLC0415 — loaded with the first expression

        try:
            self.compiler.compile(expression, purpose, authorizer=authorizer)
        except ExpressionError as error:
            yield _error(error, path, shown or expression)


def _error(error: ExpressionError, path: Path, expression: str) -> FieldError:
    if error.is_internal:
        return field.internal(path, str(error))
    return field.invalid(path, expression, str(error))


def check_match_condition(expression: str, path: Path, *, has_params: bool) -> Iterator[FieldError]:
    """Validate a match condition, which cannot use variables."""
    spec: Tree = {"paramKind": {}} if has_params else {}
    yield from PolicyExpressions(spec).condition(expression.strip(), path)
