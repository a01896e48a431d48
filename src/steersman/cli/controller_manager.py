"""``steersman controller-manager``: flags named as kube-controller-manager's, to ``ManagerOptions``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from steersman.cli.base_flags import HANDLED, add_log_flags, add_version_flag, options_of_gates
from steersman.cli.component_checks import check_controllers
from steersman.cli.controller_manager_flags import CONTROLLER_MANAGER_FLAGS
from steersman.cli.flag_parser import FlagParser
from steersman.cli.flag_table import add_table, deprecations, without_effect
from steersman.cli.help_pages import PAGES
from steersman.cli.option_flags import add_process_flags, explicit_options, run_process
from steersman.cli.serving import make_serving
from steersman.client import aiohttp_transport
from steersman.controllers.entry_points import RegistryError
from steersman.controllers.manager.assembly import MANAGER
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.registry import REGISTRY, installed, load_installed, preload
from steersman.controlplane.controller_manager import run_controller_manager
from steersman.controlplane.feature_gates import check_feature_gates
from steersman.controlplane.options import OptionError
from steersman.controlplane.process import EXIT_REFUSED
from steersman.runtime.serving_options import ControllerManagerServing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Run until a signal or the loss of the lease; return the exit code."""
    options, process = parse(arguments)
    aiohttp_transport.preload()
    preload(options.controllers)
    try:
        load_installed(options.controllers)
    except RegistryError as error:
        sys.stderr.write(f"steersman: {error}\n")
        return EXIT_REFUSED
    return run_process(
        run_controller_manager(options, parent_pipe=process.parent_pipe, serving=process.serving),
        process,
        warnings=process.warnings,
    )


def parse(arguments: Sequence[str]) -> tuple[ManagerOptions, argparse.Namespace]:
    """Return the options, and all values with the ``warnings`` to log and the ``serving`` options. Exit with a message for
    invalid flags.
    """
    flag_parser = parser()
    parsed = flag_parser.parse_args(arguments)
    gates = getattr(parsed, "feature_gates", {})
    options = ManagerOptions(**options_of_gates(explicit_options(ManagerOptions, parsed), gates))
    try:
        gate_warnings = check_feature_gates(gates)
        check_controllers(options)
        parsed.serving = make_serving(
            parsed,
            ControllerManagerServing,
            component=MANAGER,
            configuration_name="kubecontrollermanager.config.k8s.io",
            table=CONTROLLER_MANAGER_FLAGS,
            options=options,
        )
    except OptionError as error:
        flag_parser.error(str(error))
    for message in deprecations(parsed, CONTROLLER_MANAGER_FLAGS):
        sys.stderr.write(f"{message}\n")
    parsed.warnings = [
        *gate_warnings,
        *parsed.serving_warnings,
        *without_effect(parsed, CONTROLLER_MANAGER_FLAGS, ManagerOptions, ControllerManagerServing, handled=HANDLED),
    ]
    return options, parsed


def _installed_help() -> str:
    try:
        names = [f"{entry.name} ({entry.installed.package})" for entry in installed() if entry.installed]
    except RegistryError as error:
        return f"Controllers of installed packages cannot be used: {error}."
    return f"Controllers of installed packages: {', '.join(names)}." if names else ""


def parser() -> FlagParser:
    """Return the parser."""
    names = ", ".join(entry.name for entry in REGISTRY)
    off = ", ".join(entry.name for entry in REGISTRY if not entry.on_by_default)
    page = PAGES["controller-manager"]
    epilog = f"All controllers: {names}. Disabled-by-default controllers: {off}. {_installed_help()}"
    flag_parser = FlagParser("controller-manager", page._replace(epilog=epilog))
    add_table(flag_parser, CONTROLLER_MANAGER_FLAGS, ManagerOptions, ControllerManagerServing)
    add_log_flags(flag_parser)
    add_version_flag(flag_parser)
    add_process_flags(flag_parser)
    return flag_parser
