"""Match conditions of authorization webhooks. Loaded with the first one, as it loads the expression language.

Upstream: staging/src/k8s.io/apiserver/pkg/authorization/cel/matcher.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.access_review import condition_request
from steersman.apiserver.authz.interface import aggregate_errors
from steersman.cel.authorization import FIELD_SELECTOR, LABEL_SELECTOR, compile_condition, selects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.authz.access_review import ReviewSpec


class MatchConditions:
    """Compiled conditions, all of which must be true for a webhook to be asked."""

    __slots__ = ("_programs", "_reads_fields", "_reads_labels")

    def __init__(self, expressions: Sequence[str]) -> None:
        """Raise ``ExpressionError`` for an expression that does not compile."""
        self._programs: Final = [compile_condition(expression) for expression in expressions]
        self._reads_fields: Final = any(selects(program, FIELD_SELECTOR) for program in self._programs)
        self._reads_labels: Final = any(selects(program, LABEL_SELECTOR) for program in self._programs)

    def evaluate(self, spec: ReviewSpec) -> tuple[bool, str]:
        """Return whether all conditions hold, and the errors of those that have no value; none if another one is false."""
        variables = {"request": condition_request(spec, fields=self._reads_fields, labels=self._reads_labels)}
        errors: list[str] = []
        for program in self._programs:
            result = program.evaluate(variables)
            if result.error is not None:
                errors.append(
                    f"cel evaluation error: expression '{program.expression}' resulted in error: {result.error}"
                )
            elif result.value is not True:
                return False, ""
        return not errors, aggregate_errors(errors)
