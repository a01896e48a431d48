"""Field selectors: ``status.phase=Running,metadata.name!=a``. The caller knows the fields of a resource.

Upstream: ``k8s.io/apimachinery/pkg/fields``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.selectors.labels import SelectorError
from steersman.apimachinery.text_cache import text_cache
from steersman.apimachinery.workmeter import spend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ESCAPED: Final = "\\,="
_SPECIAL: Final = re.compile(r"[\\,=]")
#: Work to parse a term, for the meter.
_UNITS_PER_TERM: Final = 4


class FieldRequirement(NamedTuple):
    """A field must have a value or, unless ``equal``, must not have it."""

    field: str
    value: str
    equal: bool = True

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{_escape(self.value)}"


class FieldSelector:
    """Conjunction of requirements; an empty one matches everything."""

    __slots__ = ("requirements",)

    def __init__(self, requirements: Iterable[FieldRequirement] = ()) -> None:
        self.requirements: Final = tuple(requirements)

    @property
    def is_empty(self) -> bool:
        """Report whether it restricts nothing."""
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Report whether an object with these field values matches; a missing field counts as empty."""
        for name, value, equal in self.requirements:  # noqa: SIM110 — runs for every object; a generator costs twice
            if (fields.get(name, "") == value) is not equal:
                return False
        return True

    def exact_value(self, field: str) -> str | None:
        """Return the only value that a field may have, or ``None`` if it is not restricted to one."""
        for requirement in self.requirements:
            if requirement.field == field and requirement.equal:
                return requirement.value
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"FieldSelector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


@text_cache(512, length_max=2048)
def parse_field_selector(text: str) -> FieldSelector:
    r"""Parse a field selector; ``\``, ``,`` and ``=`` in values are escaped. Raises ``SelectorError``."""
    requirements: list[FieldRequirement] = []
    # Sorted as upstream: of several malformed terms this decides which is reported.
    for term in sorted(_split(text)):
        spend(_UNITS_PER_TERM)
        if not term:
            continue
        field, operator, value = _divide(term)
        if not operator:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        requirements.append(FieldRequirement(field, _unescape(value), operator != "!="))
    return FieldSelector(requirements)


def _split(text: str) -> list[str]:
    """Split at commas that no backslash escapes."""
    terms: list[str] = []
    parts: list[str] = []
    for part in text.split(","):
        parts.append(part)
        if (len(part) - len(part.rstrip("\\"))) % 2 == 0:
            terms.append(",".join(parts))
            parts = []
    return [*terms, ",".join(parts)] if parts else terms


def _divide(term: str) -> tuple[str, str, str]:
    """Return field, operator and value; the first operator counts, and is empty if there is none."""
    position = term.find("=")
    if position < 0:
        return term, "", ""
    if term[position - 1 : position] == "!":
        return term[: position - 1], "!=", term[position + 1 :]
    operator = "==" if term[position + 1 : position + 2] == "=" else "="
    return term[:position], operator, term[position + len(operator) :]


def _unescape(value: str) -> str:
    if not _SPECIAL.search(value):
        return value
    out: list[str] = []
    chars = iter(value)
    for char in chars:
        if char == "\\":
            escaped = next(chars, "")
            if not escaped or escaped not in _ESCAPED:
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            out.append(escaped)
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    return "".join(out)


def _escape(value: str) -> str:
    return "".join(f"\\{char}" if char in _ESCAPED else char for char in value)
