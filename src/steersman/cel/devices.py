"""CEL environment of device selectors (KEP-4381): ``device.attributes["driver.example.com"].model``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from steersman.cel import types as t
from steersman.cel.environment import Environment, kubernetes
from steersman.cel.library.quantities import QUANTITY, QuantityValue
from steersman.cel.library.semver import read
from steersman.cel.program import Program, compile_expression
from steersman.cel.source import CompileError
from steersman.cel.subtypes import ByDomain

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Cost limit of one evaluation (``CELSelectorExpressionMaxCost``).
COST_LIMIT: Final = 1_000_000


#: Limits of the API: lengths of driver names, domains, identifiers and values, and number of entries.
_NAME_MAX: Final = 63
_ID_MAX: Final = 32
_VALUE_MAX: Final = 64
_ENTRIES_MAX: Final = 32


def _by_domain(value: t.Type) -> t.Type:
    inner = t.sized(t.map_of(t.sized(t.STRING, _ID_MAX), value), _ENTRIES_MAX)
    return t.sized(t.map_of(t.sized(t.STRING, _NAME_MAX), inner), _ENTRIES_MAX)


@cache
def _environment() -> Environment:
    device = t.object_type(
        "kubernetes.DRADevice",
        {
            "driver": t.sized(t.STRING, _NAME_MAX),
            "attributes": _by_domain(t.sized(t.ANY, _VALUE_MAX)),
            "capacity": _by_domain(QUANTITY),
            "allowMultipleAllocations": t.BOOL,
        },
    )
    return kubernetes().extended(variables={"device": device}, bindings=True)


class SelectorError(Exception):
    """A selector does not compile; the message is for the user."""

    def __init__(self, detail: str, *, is_internal: bool = False) -> None:
        """``is_internal``: upstream reports an internal error, not an invalid value."""
        super().__init__(detail)
        self.is_internal: Final = is_internal


def compile_selector(expression: str) -> Program:
    """Compile a device selector. Raises SelectorError."""
    try:
        program = compile_expression(expression, _environment())
    except CompileError as error:
        raise SelectorError(f"compilation failed: {error}") from None
    if program.type not in (t.BOOL, t.ANY):
        raise SelectorError(f"must evaluate to bool or the unknown type, not {program.type}")
    if program.instantiation_error:
        raise SelectorError(f"program instantiation failed: {program.instantiation_error}", is_internal=True)
    return program


def device_value(
    driver: str, attributes: Mapping[str, Any], capacity: Mapping[str, Any], *, shared: bool
) -> dict[str, Any]:
    """Build the ``device`` variable from ResourceSlice fields. Unqualified names belong to the driver."""
    read_attributes: dict[str, dict[str, Any]] = {}
    read_capacity: dict[str, dict[str, Any]] = {}
    for name, attribute in attributes.items():
        _put(read_attributes, driver, name, _attribute(attribute))
    for name, entry in capacity.items():
        _put(read_capacity, driver, name, QuantityValue.of(str(entry["value"])))
    return {
        "driver": driver,
        "attributes": ByDomain(read_attributes),
        "capacity": ByDomain(read_capacity),
        "allowMultipleAllocations": shared,
    }


def _put(table: dict[str, dict[str, Any]], driver: str, name: str, value: Any) -> None:
    domain, slash, rest = name.partition("/")
    table.setdefault(domain if slash else driver, {})[rest if slash else name] = value


def _attribute(attribute: Mapping[str, Any]) -> Any:
    """Return the value of the attribute's only field."""
    version = attribute.get("version")
    if version is not None:
        return read(str(version))
    return next((value for value in attribute.values() if value is not None), None)
