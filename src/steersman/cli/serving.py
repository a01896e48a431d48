"""HTTPS port of a component, from its flags: its options, and the contents of ``/configz`` and ``/flagz``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.cli.component_checks import check_serving
from steersman.cli.option_flags import explicit_options
from steersman.cli.reported_flags import flag_values
from steersman.controlplane.component_pages import ComponentDescription, configuration_of
from steersman.controlplane.component_serving import Serving

if TYPE_CHECKING:
    import argparse

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
    """Return the serving settings of a component. ``options`` are its other options. Raises ``OptionError``.

    Sets ``serving_warnings`` of ``parsed`` to the messages to log.
    """
    serving = kind(**explicit_options(kind, parsed))
    parsed.serving_warnings = check_serving(serving)
    description = ComponentDescription(
        component=component,
        configuration_name=configuration_name,
        configuration=configuration_of(options, serving),
        gates=dict(getattr(parsed, "feature_gates", {})),
        flags=flag_values(parsed, table, type(options), kind),
    )
    return Serving(serving, description)
