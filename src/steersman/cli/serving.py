"""HTTPS port of a component, from its flags: its options, and the contents of ``/configz`` and ``/flagz``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.durations import format_duration
from steersman.cli import values
from steersman.cli.component_checks import check_serving
from steersman.cli.flag_table import defaults_of
from steersman.cli.option_flags import given
from steersman.controlplane.component_pages import ComponentDescription, configuration_of
from steersman.controlplane.component_serving import Serving

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    import msgspec

    from steersman.cli.flag_table import FlagTable
    from steersman.runtime.serving_options import ServingOptions


def make_serving(
    parsed: argparse.Namespace,
    kind: type[ServingOptions],
    *,
    component: str,
    configuration_name: str,
    table: FlagTable,
    options: msgspec.Struct,
) -> Serving:
    """Return how a component serves. ``options`` are its other ones. Raises ``OptionError``."""
    serving = kind(**given(kind, parsed))
    check_serving(serving)
    description = ComponentDescription(
        component=component,
        configuration_name=configuration_name,
        configuration=configuration_of(options, serving),
        flags=flag_values(parsed, table, type(options), kind),
    )
    return Serving(serving, description)


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
