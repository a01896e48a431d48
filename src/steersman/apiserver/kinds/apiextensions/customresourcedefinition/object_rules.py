"""CEL validation rules of custom resources (``x-kubernetes-validations``, KEP-2876).

A rule that fails on unchanged values only warns (KEP-4008), unless it is a transition rule.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.field import ErrorType, FieldError, Path
from steersman.apimachinery.gotext import quote
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.cel_rules import has_rules
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.field_paths import follow
from steersman.cel.loading import load
from steersman.schema.openapi_values import NO_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.cel.program import Program
    from steersman.cel.schema_rules import Rule


_log: Final = logging.getLogger(__name__)

#: Cost budget of all rules for one object.
_BUDGET: Final = 10_000_000
_MESSAGE_MAX_BYTES: Final = 5 * 1024
_RULES: Final = "x-kubernetes-validations"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_COST_FAULT: Final = "operation cancelled: actual cost limit exceeded"
_MESSAGE_TOO_EXPENSIVE: Final = (
    "no further validation rules will be run due to call cost exceeds limit for messageExpression"
)
#: Schema errors after which rules are not evaluated.
_BLOCKING: Final = frozenset(
    (ErrorType.NOT_SUPPORTED, ErrorType.REQUIRED, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.TYPE_INVALID)
)
_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


class ObjectRules:
    """Rules of one version, compiled on the first write."""

    def __init__(self, schema: Tree, *, is_resource: bool = True) -> None:
        self._schema: Final = schema
        self._is_resource: Final = is_resource
        self._exist: Final = has_rules(schema)
        self._root: _Node | None = None

    def validate(
        self, obj: Any, old: Any, *, faults: Sequence[FieldError], warn: Callable[[str], None]
    ) -> list[FieldError]:
        """Return ``faults`` and the errors of violated rules."""
        if not self._exist:
            return list(faults)
        if any(fault.type in _BLOCKING for fault in faults):
            return [*faults, field.invalid(NO_PATH, None, _NOT_CHECKED)]
        if self._root is None:
            self._root = _Node(self._schema, is_resource=self._is_resource)
        run = _Run(warn)
        errors = [*faults]
        try:
            errors.extend(run.check(self._root, None, obj, old, unchanged=old is not None and old == obj))
        except _OutOfBudgetError as end:
            errors += [*run.errors, end.error]
        return errors


class _Node:
    """A schema node with rules at or below it."""

    __slots__ = ("convert", "items", "keys", "others", "properties", "rules", "type")

    def __init__(self, schema: Tree, *, is_resource: bool) -> None:
        self.type: Final = str(schema.get("type") or "")
        self.rules: Final = _compiled(schema, is_resource=is_resource)
        self.convert: Final = _converter(schema, self.rules) if self.rules else None
        self.properties: Final = {
            name: _Node(below, is_resource=bool(below.get(_EMBEDDED)))
            for name, below in (schema.get("properties") or {}).items()
            if has_rules(below)
        }
        self.others: Final = _node_of(schema.get("additionalProperties"))
        self.items: Final = _node_of(schema.get("items"))
        #: Keys that correlate items; None if they cannot be correlated.
        is_map = schema.get("x-kubernetes-list-type") == "map"
        self.keys: Final = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if is_map else None


def _node_of(schema: Any) -> _Node | None:
    if not isinstance(schema, dict) or not has_rules(schema):
        return None
    return _Node(schema, is_resource=bool(schema.get(_EMBEDDED)))


class _Placed:
    """A compiled rule with its ``fieldPath``."""

    __slots__ = ("path", "rule")

    def __init__(self, rule: Rule, schema: Tree) -> None:
        self.rule: Final = rule
        field_path = rule.rule.get("fieldPath")
        self.path: Final = follow(field_path, schema)[0] if field_path else ""


def _compiled(schema: Tree, *, is_resource: bool) -> list[_Placed]:
    rules = schema.get(_RULES) or ()
    if not rules:
        return []
    load()
    from steersman.cel.openapi import declare  # noqa: PLC0415 — loaded with the first expression
    from steersman.cel.schema_rules import compile_rules  # noqa: PLC0415 — as above

    type_ = declare(schema, is_resource=is_resource)
    return [_Placed(rule, schema) for rule in compile_rules(rules, type_)] if type_ is not None else []


def _converter(schema: Tree, rules: Sequence[_Placed]) -> Callable[[Any], Any] | None:
    """Return the conversion of values to those of expressions, as far as the rules read them."""
    from steersman.cel.field_use import field_use  # noqa: PLC0415 — loaded with the first expression
    from steersman.cel.openapi import converter  # noqa: PLC0415 — as above

    programs = [program for placed in rules for program in (placed.rule.program, placed.rule.message)]
    trees = [program.tree for program in programs if program is not None]
    return converter(schema, field_use(trees, ("self", "oldSelf")))


class _OutOfBudgetError(Exception):
    def __init__(self, error: FieldError) -> None:
        super().__init__()
        self.error: Final = error


class _Run:
    """Evaluation of the rules for one object."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn: Final = warn
        self._budget = _BUDGET
        #: Errors so far, reported when the budget is exceeded.
        self.errors: list[FieldError] = []

    def check(self, node: _Node, path: Path | None, obj: Any, old: Any, *, unchanged: bool) -> Iterator[FieldError]:
        """Yield the errors of a value and below; ``old`` is None without a correlated value."""
        if obj is None:
            return
        for error in self._check_rules(node, path, obj, old, unchanged=unchanged):
            self.errors.append(error)
            yield error
        if isinstance(obj, dict):
            before = old if isinstance(old, dict) else {}
            for name, value in obj.items():
                below = node.properties.get(name)
                if below is not None:
                    child_path = _child(path, name)
                elif node.others is not None:
                    below, child_path = node.others, path.key(name) if path is not None else Path("", subscript=name)
                else:
                    continue
                yield from self._below(below, child_path, value, before.get(name), unchanged=unchanged)
        elif isinstance(obj, list) and node.items is not None and path is not None:
            old_by_key = _by_keys(old, node.keys)
            for position, item in enumerate(obj):
                partner = old_by_key.get(_key(item, node.keys or ())) if old_by_key else None
                yield from self._below(node.items, path.index(position), item, partner, unchanged=unchanged)

    def _below(self, node: _Node, path: Path, obj: Any, old: Any, *, unchanged: bool) -> Iterator[FieldError]:
        same = unchanged or (old is not None and old == obj)
        yield from self.check(node, path, obj, old, unchanged=same)

    def _check_rules(
        self, node: _Node, path: Path | None, obj: Any, old: Any, *, unchanged: bool
    ) -> Iterator[FieldError]:
        if not node.rules:
            return
        from steersman.cel.values import NONE, Optional  # noqa: PLC0415 — loaded with the first expression

        convert = node.convert or _same
        now = convert(obj)
        before = convert(old) if old is not None else None
        for placed in node.rules:
            rule = placed.rule
            optional = bool(rule.rule.get("optionalOldSelf"))
            if rule.program is None or (rule.uses_old and old is None and not optional):
                continue
            variables = {"self": now}
            if optional:
                variables["oldSelf"] = NONE if old is None else Optional(before)
            elif old is not None:
                variables["oldSelf"] = before
            error = self._evaluate(placed, variables, path, node.type, obj)
            if error is not None and unchanged and not rule.uses_old:
                self._warn(str(error))
            elif error is not None:
                yield error

    def _evaluate(
        self, placed: _Placed, variables: Mapping[str, Any], path: Path | None, type_: str, obj: Any
    ) -> FieldError | None:
        rule = placed.rule
        error_path: Path | str = path if path is not None else NO_PATH
        if self._budget <= 0 or rule.program is None:
            raise _OutOfBudgetError(field.invalid(error_path, type_, _OUT_OF_BUDGET))
        result = rule.program.evaluate(variables)
        if result.cost > self._budget:
            raise _OutOfBudgetError(field.invalid(error_path, type_, _OUT_OF_BUDGET))
        self._budget -= result.cost
        if result.error is not None:
            return _fault(str(result.error), _name_of(rule.rule), error_path, type_)
        if result.value is True:
            return None
        if placed.path:
            error_path = placed.path if path is None else path.child(placed.path)
        detail = self._message(rule, variables, error_path, type_) if rule.message is not None else ""
        shown = field.OMIT_VALUE if isinstance(obj, (dict, list)) else obj
        return _failure(error_path, shown, detail or _default_message(rule.rule), rule.rule.get("reason"))

    def _message(self, rule: Rule, variables: Mapping[str, Any], error_path: Path | str, type_: str) -> str:
        """Return the value of ``messageExpression``; empty if unusable."""
        program: Program | None = rule.message
        if program is None:
            return ""
        result = program.evaluate(variables)
        if result.cost > self._budget:
            detail = (
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules "
                "will be run"
            )
            raise _OutOfBudgetError(field.invalid(error_path, type_, detail))
        self._budget -= result.cost
        if result.error is not None and str(result.error).startswith(_COST_FAULT):
            shown = quote(rule.rule["messageExpression"])
            raise _OutOfBudgetError(field.invalid(error_path, type_, f"{_MESSAGE_TOO_EXPENSIVE}: {shown}"))
        text = result.value.strip() if isinstance(result.value, str) else ""
        if result.error is not None or "\n" in text or len(text.encode()) > _MESSAGE_MAX_BYTES:
            _log.debug("the messageExpression of a rule came to nothing: %s", result.error)
            return ""
        return text


def _same(value: Any) -> Any:
    return value


def _child(path: Path | None, name: str) -> Path:
    return path.child(name) if path is not None else Path(name)


def _key(item: Any, keys: Sequence[str]) -> str:
    return repr([item.get(key) for key in keys]) if isinstance(item, dict) else ""


def _by_keys(items: Any, keys: Sequence[str] | None) -> dict[str, Any]:
    if keys is None or not isinstance(items, list):
        return {}
    return {_key(item, keys): item for item in items}


def _name_of(rule: Tree) -> str:
    return str(rule.get("message") or rule.get("rule") or "").strip()


def _default_message(rule: Tree) -> str:
    message = rule.get("message")
    return str(message).strip() if message else f"failed rule: {_name_of(rule)}"


def _fault(text: str, rule: str, path: Path | str, type_: str) -> FieldError:
    """Return the error of a rule without a value."""
    if text.startswith(_COST_FAULT):
        detail = f"'{text}': no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
        raise _OutOfBudgetError(field.invalid(path, type_, detail))
    if text.startswith("no such overload"):
        detail = (
            f"'{text}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
        )
    else:
        detail = f"{text} evaluating rule: {rule}"
    return field.invalid(path, type_, detail)


def _failure(path: Path | str, value: Any, detail: str, reason: str | None) -> FieldError:
    """Return the error of a violated rule. Values of lists and objects are not shown."""
    match reason:
        case "FieldValueForbidden":
            return field.forbidden(path, detail)
        case "FieldValueRequired":
            return field.required(path, detail)
        case "FieldValueDuplicate":
            return field.duplicate(path, value)
        case _:
            return field.invalid(path, value, detail)
