"""``steersman controller-manager``: flags named as kube-controller-manager's, to ``ManagerOptions``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from steersman.cli.base_flags import HANDLED, add_log_flags, add_version_flag
from steersman.cli.component_checks import check_controllers
from steersman.cli.controller_manager_flags import CONTROLLER_MANAGER_FLAGS
from steersman.cli.flag_parser import FlagParser
from steersman.cli.flag_table import add_table, deprecations, without_effect
from steersman.cli.help_pages import PAGES
from steersman.cli.option_flags import add_process_flags, given, run_process
from steersman.client import aiohttp_transport
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.registry import REGISTRY, preload
from steersman.controlplane.controller_manager import run_controller_manager
from steersman.controlplane.feature_gates import check_feature_gates
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_COORDINATED: Final = "CoordinatedLeaderElection"


def run(arguments: Sequence[str]) -> int:
    """Run until a signal or the loss of the lease; return the exit code."""
    options, process = parse(arguments)
    aiohttp_transport.preload()
    preload(options.controllers)
    return run_process(
        run_controller_manager(options, parent_pipe=process.parent_pipe), process, warnings=process.warnings
    )


def parse(arguments: Sequence[str]) -> tuple[ManagerOptions, argparse.Namespace]:
    """Return the options, and all values with the ``warnings`` to log. Exit with a message for flags that cannot be used."""
    made = parser()
    parsed = made.parse_args(arguments)
    given_options = given(ManagerOptions, parsed)
    gates = getattr(parsed, "feature_gates", {})
    if "coordinated_leader_election" not in given_options and gates.get(_COORDINATED):
        given_options["coordinated_leader_election"] = True
    options = ManagerOptions(**given_options)
    try:
        gate_warnings = check_feature_gates(gates)
        check_controllers(options)
    except OptionError as error:
        made.error(str(error))
    for message in deprecations(parsed, CONTROLLER_MANAGER_FLAGS):
        sys.stderr.write(f"{message}\n")
    parsed.warnings = [
        *gate_warnings,
        *without_effect(parsed, CONTROLLER_MANAGER_FLAGS, ManagerOptions, handled=HANDLED),
    ]
    return options, parsed


def parser() -> FlagParser:
    """Return the parser."""
    names = ", ".join(entry.name for entry in REGISTRY)
    off = ", ".join(entry.name for entry in REGISTRY if not entry.on_by_default)
    page = PAGES["controller-manager"]
    epilog = f"All controllers: {names}. Disabled-by-default controllers: {off}."
    made = FlagParser("controller-manager", page._replace(epilog=epilog))
    add_table(made, CONTROLLER_MANAGER_FLAGS, ManagerOptions)
    add_log_flags(made)
    add_version_flag(made)
    add_process_flags(made)
    return made
