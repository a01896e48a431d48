"""Label selectors: a conjunction of requirements on an object's labels. Upstream: ``k8s.io/apimachinery/pkg/labels``."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery import field, names
from steersman.apimachinery.field import FieldError, Path, join_messages
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.metadata_validation import validate_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Labels = Mapping[str, str] | None
    Test = Callable[[Mapping[str, str]], bool]


class SelectorError(ValueError):
    """Malformed selector; the message is upstream's."""


class Operator(StrEnum):
    """Comparison operator of a requirement."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


#: Operators that need a value, as printed in messages.
BINARY_OPERATORS: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")

_ALL_OPERATORS: Final = (*BINARY_OPERATORS, "exists", "!")
_SET: Final = frozenset({Operator.IN, Operator.NOT_IN})
_EXACT: Final = frozenset({Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS})
_PRESENCE: Final = frozenset({Operator.EXISTS, Operator.DOES_NOT_EXIST})
_SIGNS: Final = {
    Operator.IN: " in ",
    Operator.NOT_IN: " notin ",
    Operator.GREATER_THAN: ">",
    Operator.LESS_THAN: "<",
}
#: More requirements are tested by key: a client chooses their number, but hardly that of an object's labels.
_TESTED_ONE_BY_ONE_MAX: Final = 8
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")


class Requirement(NamedTuple):
    """One condition; ``values`` are sorted and unique. Create it with ``requirement``, which validates it."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator is Operator.EXISTS:
            return self.key
        joined = ",".join(self.values)
        operand = f"({joined})" if self.operator in _SET else joined
        return f"{self.key}{_SIGNS.get(self.operator, self.operator.value)}{operand}"

    def matches(self, labels: Labels) -> bool:
        """Report whether labels satisfy the requirement."""
        return _compile(self)(labels or {})


def requirement(key: str, operator: Operator | str, values: Iterable[str] = ()) -> Requirement:
    """Return a valid requirement. Raises ``SelectorError`` for invalid keys or values, and a wrong number of values."""
    listed = sorted(set(values))
    errors = _key_errors(key, "key")
    if operator in _ALL_OPERATORS:
        errors += _count_errors(Operator(operator), listed)
    else:
        errors.append(field.not_supported("operator", operator, _ALL_OPERATORS))
    for position, value in enumerate(listed):
        faults = names.check_label_value(value)
        if faults:
            path = Path("values").index(position).key(key)
            errors.append(field.invalid(path, value, "; ".join(faults)))
    if errors:
        raise SelectorError(join_messages(map(str, errors)))
    return Requirement(key, Operator(operator), tuple(listed))


def _key_errors(key: str, path: str) -> list[FieldError]:
    faults = names.check_qualified_name(key)
    return [field.invalid(path, key, "; ".join(faults))] if faults else []


def check_key(key: str) -> None:
    """Raise ``SelectorError`` for an invalid label key; without a path, as the parser reports it."""
    for error in _key_errors(key, "<nil>"):
        raise SelectorError(str(error))


def _count_errors(operator: Operator, values: Sequence[str]) -> list[FieldError]:
    path = Path("values")
    shown = list(values)
    if operator in _SET:
        detail = "for 'in', 'notin' operators, values set can't be empty"
        return [] if values else [field.invalid(path, shown, detail)]
    if operator in _EXACT:
        detail = "exact-match compatibility requires one single value"
        return [] if len(values) == 1 else [field.invalid(path, shown, detail)]
    if operator in _PRESENCE:
        detail = "values set must be empty for exists and does not exist"
        return [field.invalid(path, shown, detail)] if values else []
    if len(values) != 1:
        return [field.invalid(path, shown, "for 'Gt', 'Lt' operators, exactly one value is required")]
    if _integer(values[0]) is None:
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        return [field.invalid(path.index(0), values[0], detail)]
    return []


def _integer(text: str) -> int | None:
    """Return a 64-bit integer, or ``None``."""
    if not _INTEGER.fullmatch(text) or len(text) > 64:
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def _compile(condition: Requirement) -> Test:
    key, operator, values = condition
    if operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS):
        limit = values[0]
        return lambda labels: labels.get(key) == limit
    if operator is Operator.NOT_EQUALS:
        unwanted = values[0]
        return lambda labels: labels.get(key) != unwanted
    if operator is Operator.EXISTS:
        return lambda labels: key in labels
    if operator is Operator.DOES_NOT_EXIST:
        return lambda labels: key not in labels
    if operator in _SET:
        members = frozenset(values)
        if operator is Operator.IN:
            return lambda labels: labels.get(key) in members
        return lambda labels: labels.get(key) not in members
    bound = int(values[0])
    greater = operator is Operator.GREATER_THAN

    def compare(labels: Mapping[str, str]) -> bool:
        number = _integer(labels.get(key, ""))
        return number is not None and (number > bound if greater else number < bound)

    return compare


class _KeyTest:
    """Conjunction of requirements of one key, in constant time."""

    __slots__ = ("_forbidden", "_permitted", "_tests", "is_absent", "is_required")

    def __init__(self) -> None:
        #: The value is in ``_permitted`` unless that is None, not in ``_forbidden``, and passes ``_tests``.
        self._permitted: frozenset[str] | None = None
        self._forbidden: set[str] = set()
        self._tests: dict[bool, tuple[int, Test]] = {}
        self.is_absent = False
        self.is_required = False

    def add(self, condition: Requirement) -> None:
        """Add a requirement of the key."""
        operator, values = condition.operator, condition.values
        if operator in (Operator.NOT_EQUALS, Operator.NOT_IN):
            self._forbidden.update(values)
        elif operator is Operator.DOES_NOT_EXIST:
            self.is_absent = True
        else:
            self.is_required = True
            if operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
                self._add_bound(condition)
            elif operator is not Operator.EXISTS:
                permitted = frozenset(values)
                self._permitted = permitted if self._permitted is None else self._permitted & permitted

    def _add_bound(self, condition: Requirement) -> None:
        """Add a bound, unless there is a narrower one."""
        is_lower = condition.operator is Operator.GREATER_THAN
        bound = int(condition.values[0])
        present = self._tests.get(is_lower)
        if present is None or (bound > present[0] if is_lower else bound < present[0]):
            self._tests[is_lower] = bound, _compile(condition)

    def accepts(self, labels: Mapping[str, str], value: str) -> bool:
        """Report whether labels in which the key has ``value`` satisfy the requirements."""
        if self.is_absent or value in self._forbidden:
            return False
        if self._permitted is not None and value not in self._permitted:
            return False
        return all(test(labels) for _, test in self._tests.values())


def _compile_all(requirements: Sequence[Requirement]) -> Test:
    """Return the conjunction of many requirements; it takes as long as the labels are many."""
    keys: dict[str, _KeyTest] = {}
    for condition in requirements:
        test = keys.get(condition.key)
        if test is None:
            test = keys[condition.key] = _KeyTest()
        test.add(condition)
    required = [key for key, test in keys.items() if test.is_required]

    def matches(labels: Mapping[str, str]) -> bool:
        if len(required) > len(labels) or not all(key in labels for key in required):
            return False
        for key, value in labels.items():
            test = keys.get(key)
            if test is not None and not test.accepts(labels, value):
                return False
        return True

    return matches


class LabelSelector:
    """Conjunction of requirements; an empty one matches everything."""

    __slots__ = ("_tests", "requirements")

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        #: Sorted by key; requirements of one key in the given order.
        self.requirements: Final = tuple(sorted(requirements, key=lambda condition: condition.key))
        self._tests: Final = (
            tuple(_compile(condition) for condition in self.requirements)
            if len(self.requirements) <= _TESTED_ONE_BY_ONE_MAX
            else (_compile_all(self.requirements),)
        )

    @property
    def is_empty(self) -> bool:
        """Report whether it restricts nothing."""
        return not self.requirements

    def matches(self, labels: Labels) -> bool:
        """Report whether an object with these labels matches; ``None`` counts as no labels."""
        present_labels = labels or {}
        for test in self._tests:  # noqa: SIM110 — runs for every object; a generator costs twice
            if not test(present_labels):
                return False
        return True

    def exact_value(self, key: str) -> str | None:
        """Return the only value that the label may have, or ``None`` if it is not restricted to one."""
        for condition in self.requirements:
            exact = condition.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)
            if condition.key == key and exact and len(condition.values) == 1:
                return condition.values[0]
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.requirements == getattr(other, "requirements", None)

    def __hash__(self) -> int:
        return hash((type(self), self.requirements))


class _Nothing(LabelSelector):
    """Selector that matches nothing: a missing selector, where the API defines it so."""

    __slots__ = ()

    @property
    def is_empty(self) -> bool:
        return False

    def matches(self, labels: Labels) -> bool:
        del labels
        return False


EVERYTHING: Final = LabelSelector()
NOTHING: Final[LabelSelector] = _Nothing()

_OBJECT_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def from_label_selector(tree: Mapping[str, Any] | None) -> LabelSelector:
    """Return the selector of a ``LabelSelector`` tree (``matchLabels``, ``matchExpressions``).

    ``None`` matches nothing, an empty one everything. Raises ``SelectorError`` for what validation would reject.
    """
    if tree is None:
        return NOTHING
    requirements = [
        requirement(key, Operator.EQUALS, [value]) for key, value in (tree.get("matchLabels") or {}).items()
    ]
    for expression in tree.get("matchExpressions") or ():
        operator = expression.get("operator", "")
        if operator not in _OBJECT_OPERATORS:
            raise SelectorError(f"{quote(operator)} is not a valid label selector operator")
        values = expression.get("values") or ()
        requirements.append(requirement(expression.get("key", ""), _OBJECT_OPERATORS[operator], values))
    return LabelSelector(requirements) if requirements else EVERYTHING


def validate_label_selector(
    tree: Mapping[str, Any] | None, path: Path, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    """Validate a ``LabelSelector`` tree; ``allow_invalid_values`` is for objects that already had invalid values."""
    if tree is None:
        return []
    errors = validate_labels(tree.get("matchLabels") or {}, path.child("matchLabels"))
    for position, expression in enumerate(tree.get("matchExpressions") or ()):
        item_path = path.child("matchExpressions").index(position)
        errors += validate_label_requirement(expression, item_path, allow_invalid_values=allow_invalid_values)
    return errors


def validate_label_requirement(
    requirement: Mapping[str, Any],
    path: Path,
    *,
    allow_invalid_values: bool = False,
    allow_unknown_operator: bool = False,
) -> list[FieldError]:
    """Validate a ``LabelSelectorRequirement`` tree. Upstream: ``ValidateLabelSelectorRequirement``."""
    errors: list[FieldError] = []
    operator = requirement.get("operator", "")
    values = requirement.get("values") or []
    if operator not in _OBJECT_OPERATORS:
        if not allow_unknown_operator:
            errors.append(field.invalid(path.child("operator"), operator, "not a valid selector operator"))
    elif _OBJECT_OPERATORS[operator] in _SET and not values:
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        errors.append(field.required(path.child("values"), detail))
    elif _OBJECT_OPERATORS[operator] in _PRESENCE and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(field.forbidden(path.child("values"), detail))
    key = requirement.get("key", "")
    errors += [field.invalid(path.child("key"), key, fault) for fault in names.check_qualified_name(key)]
    if not allow_invalid_values:
        for position, value in enumerate(values):
            value_path = path.child("values").index(position)
            errors += [field.invalid(value_path, value, fault) for fault in names.check_label_value(value)]
    return errors
