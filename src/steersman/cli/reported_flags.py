"""Values of flags for ``/flagz``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.durations import format_duration
from steersman.cli import values
from steersman.cli.flag_table import defaults_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    import msgspec

    from steersman.cli.flag_table import FlagTable


def flag_values(parsed: argparse.Namespace, table: FlagTable, *options: type[msgspec.Struct]) -> dict[str, str]:
    """Return the value of each flag that was given or has a default, as it may be written on a command line."""
    flag_to_value = {**defaults_of(options), **vars(parsed)}
    return {
        flag.name: _text(flag_to_value[flag.target], is_duration=flag.type is values.duration)
        for flags in table.values()
        for flag in flags
        if flag.target in flag_to_value
    }


def _text(value: Any, *, is_duration: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if is_duration:
        return format_duration(value)
    if isinstance(value, dict):
        return _pairs(value)
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _pairs(mapping: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={_text(value, is_duration=False)}" for name, value in mapping.items())
