"""Format library: ``format.dns1123Label().validate(name)``."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import names
from steersman.apimachinery.go_urls import request_uri_fault
from steersman.cel import times
from steersman.cel.functions import Function, Overload, member
from steersman.cel.standard import tenth
from steersman.cel.types import STRING, list_of, object_type, optional_of
from steersman.cel.values import NONE, EvalError, Opaque, Optional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Check = Callable[[str], Sequence[str]]

FORMAT: Final = object_type("kubernetes.NamedFormat", {})
TYPES: Final = {FORMAT.name: FORMAT}
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")


class FormatValue(Opaque):
    """A named format."""

    type_name: ClassVar[str] = FORMAT.name
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    @property
    def key(self) -> Any:
        return self.name


def _prefix(check: Check) -> Check:
    """Return a check for name prefixes, which may end in ``-``."""
    return lambda text: check(text[:-1] + "a" if text.endswith("-") else text)


def _uri(text: str) -> Sequence[str]:
    fault = request_uri_fault(text)
    return (fault,) if fault else ()


def _uuid(text: str) -> Sequence[str]:
    return () if _UUID.fullmatch(text) else ("does not match the UUID format",)


def _byte(text: str) -> Sequence[str]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ("invalid base64",)
    return ()


def _date(text: str) -> Sequence[str]:
    try:
        date.fromisoformat(text)
    except ValueError:
        return ("invalid date",)
    return ()


def _datetime(text: str) -> Sequence[str]:
    try:
        times.parse_timestamp(text)
    except EvalError:
        return ("invalid datetime",)
    return ()


_CHECKS: Final[dict[str, Check]] = {
    "dns1123Label": names.check_dns1123_label,
    "dns1123Subdomain": names.check_dns1123_subdomain,
    "dns1035Label": names.check_dns1035_label,
    "qualifiedName": names.check_qualified_name,
    "dns1123LabelPrefix": _prefix(names.check_dns1123_label),
    "dns1123SubdomainPrefix": _prefix(names.check_dns1123_subdomain),
    "dns1035LabelPrefix": _prefix(names.check_dns1035_label),
    "labelValue": names.check_label_value,
    "uri": _uri,
    "uuid": _uuid,
    "byte": _byte,
    "date": _date,
    "datetime": _datetime,
}


def _validate(value: FormatValue, text: str) -> Optional:
    faults = list(_CHECKS[value.name](text))
    return Optional(faults) if faults else NONE


def _named(name: str) -> Optional:
    return Optional(FormatValue(name)) if name in _CHECKS else NONE


def _cost(args: Sequence[Any], _: Any) -> int:
    return tenth(len(args[1])) + 1


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    for name in _CHECKS:
        format_value = FormatValue(name)
        yield Function(
            f"format.{name}", [Overload(f"format-{name}", (), FORMAT, lambda format_value=format_value: format_value)]
        )
    yield Function("format.named", [Overload("format-named", (STRING,), optional_of(FORMAT), _named)])
    validate = member("format-validate", (FORMAT, STRING), optional_of(list_of(STRING)), _validate)
    yield Function("validate", [validate], cost=_cost)
