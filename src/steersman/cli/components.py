"""``steersman scheduler``, ``steersman nodes``, and the process of ``up`` with both and the controllers."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.cli.base_flags import HANDLED, add_log_flags, add_version_flag, options_of_gates
from steersman.cli.component_checks import check_leader_election, check_nodes
from steersman.cli.flag_parser import FlagParser
from steersman.cli.flag_table import add_table, deprecations, without_effect
from steersman.cli.help_pages import PAGES
from steersman.cli.option_flags import COMMON_HELP, add_options, add_process_flags, explicit_options, run_process
from steersman.cli.scheduler_flags import SCHEDULER_FLAGS
from steersman.client import aiohttp_transport
from steersman.controllers import registry
from steersman.controllers.entry_points import RegistryError
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane.child_process import ARGUMENTS_FROM_PARENT, receive_arguments
from steersman.controlplane.components import SCHEDULER, run_all, run_nodes, run_scheduler
from steersman.controlplane.feature_gates import check_feature_gates
from steersman.controlplane.options import OptionError
from steersman.controlplane.process import EXIT_REFUSED
from steersman.nodes.options import NodesOptions
from steersman.runtime.serving_options import SchedulerServing
from steersman.scheduler.configuration.errors import ConfigurationError
from steersman.scheduler.options import SchedulerOptions, set_up

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import msgspec

    from steersman.scheduler.options import Setup

#: Option of ``--write-config-to``, which no struct has.
_WRITE_CONFIG_TO: Final = "write_config_to"
_TEXTS: Final = {
    **COMMON_HELP,
    "config": "File with a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)",
    "kube_api_qps": "Maximum number of requests per second to the API server; 0 for no limit",
    "kube_api_burst": "Maximum burst of requests to the API server",
    "scheduler_name": "Schedule pods with this spec.schedulerName",
    "percentage_of_nodes_to_score": "Percentage of nodes that are scored for a pod; 0 to choose by the size of the cluster",
    "pod_max_in_unschedulable_pods_duration_seconds": "Time after which an unschedulable pod is tried again",
    "nodes": "Number of simulated nodes",
    "node_template": "YAML file with capacity, labels and taints of the nodes",
    "pod_events": "Record the kubelet's Normal events about pods (at most 50 a second)",
    "simulated_storage": "Provision volumes for claims, with a default StorageClass",
    "stages": "Lifecycle of pods and nodes: default, never-end, or files with KWOK stages, comma-separated",
    "chaos": "YAML file of rules that make pods and nodes fail",
    "process_pods": "Run pods that ask for it as local processes of your user",
    "process_isolation": "Run their containers in namespaces: auto (where the machine allows it), namespaces or none",
    "process_images": "YAML file of local commands that stand for images of such pods",
    "process_dir": "Directory for files of such pods (default below the temporary directory)",
    "metrics": "Serve metrics.k8s.io with made-up usage of simulated pods, for kubectl top and HorizontalPodAutoscalers",
    "kubelet_address": "IP address that the kubelet of the nodes listens on",
    "kubelet_port": "Port of the kubelet; 0 for any free port",
    "kubelet_certificate_file": "File with the serving certificate of the kubelet",
    "kubelet_key_file": "File with the private key of --kubelet-certificate-file",
    "kubelet_client_ca_file": "File with the certificate authority of clients of the kubelet; it listens only with all three files",
}


def run(command: str, arguments: Sequence[str]) -> int:
    """Run until a signal or the loss of the lease; return the exit code."""
    flag_parser = parser(command)
    parsed = flag_parser.parse_args(arguments)
    if command == "components" and parsed.arguments_from_parent:
        return _run_child(flag_parser, parsed, arguments)
    aiohttp_transport.preload()
    match command:
        case "nodes":
            return _run_nodes(flag_parser, parsed)
        case "scheduler":
            return _run_scheduler(flag_parser, parsed)
        case _:
            return _run_components(flag_parser, parsed)


def _run_nodes(flag_parser: FlagParser, parsed: Namespace) -> int:
    nodes = NodesOptions(**explicit_options(NodesOptions, parsed))
    with _errors_of_flags(flag_parser):
        check_nodes(nodes)
    return run_process(run_nodes(nodes, parent_pipe=parsed.parent_pipe), parsed)


def _run_scheduler(flag_parser: FlagParser, parsed: Namespace) -> int:
    from steersman.cli.serving import make_serving  # noqa: PLC0415 — ``up`` does without

    with _errors_of_flags(flag_parser):
        scheduler = _scheduler(parsed)
        if getattr(parsed, _WRITE_CONFIG_TO, None) is not None:
            return _write_config(scheduler, getattr(parsed, _WRITE_CONFIG_TO))
        warnings = check_feature_gates(_feature_gates(parsed))
        warnings += without_effect(
            parsed, SCHEDULER_FLAGS, SchedulerOptions, SchedulerServing, handled={*HANDLED, _WRITE_CONFIG_TO}
        )
        serving = make_serving(
            parsed,
            SchedulerServing,
            component=SCHEDULER,
            configuration_name="componentconfig",
            table=SCHEDULER_FLAGS,
            options=scheduler.options,
        )
        warnings += parsed.serving_warnings
    for message in deprecations(parsed, SCHEDULER_FLAGS):
        sys.stderr.write(f"{message}\n")
    work = run_scheduler(scheduler, parent_pipe=parsed.parent_pipe, serving=serving)
    return run_process(work, parsed, warnings=warnings)


def _write_config(scheduler: Setup, path: Path) -> int:
    """Write the configuration to a file or device; a new file has mode 0600, as extenders may have keys.

    Raises ``OptionError``.
    """
    from steersman.scheduler.configuration.encoding import encode_configuration  # noqa: PLC0415 — for this flag only

    try:
        with open(path, "wb", opener=partial(os.open, mode=0o600)) as file:
            file.write(encode_configuration(scheduler))
    except OSError as error:
        raise OptionError(f"--write-config-to: {path}: {error.strerror or error}") from error
    sys.stderr.write(f"Wrote configuration to {path}\n")
    return 0


def _run_child(flag_parser: FlagParser, parsed: Namespace, arguments: Sequence[str]) -> int:
    """Run the components of ``up``, whose flags arrive when the API server is ready; modules are imported meanwhile."""
    load_trust_store = aiohttp_transport.preload_without_trust_store()
    registry.preload()
    received = receive_arguments(parsed.parent_pipe)
    if received is None:
        return 0
    parsed = flag_parser.parse_args([*arguments, *received])
    return _run_components(flag_parser, parsed, after_ready=load_trust_store)


def _run_components(
    flag_parser: FlagParser, parsed: Namespace, *, after_ready: Callable[[], None] | None = None
) -> int:
    nodes = NodesOptions(**explicit_options(NodesOptions, parsed))
    with _errors_of_flags(flag_parser):
        check_nodes(nodes)
        scheduler = _scheduler(parsed)
    controllers = ManagerOptions(**explicit_options(ManagerOptions, parsed))
    try:
        registry.load_installed(controllers.controllers)
    except RegistryError as error:
        sys.stderr.write(f"steersman: {error}\n")
        return EXIT_REFUSED
    work = run_all(
        controllers,
        scheduler,
        nodes,
        parent_pipe=parsed.parent_pipe,
        reports_readiness=parsed.arguments_from_parent,
        after_ready=after_ready,
        health_socket=parsed.health_socket,
    )
    return run_process(work, parsed)


def _feature_gates(parsed: Namespace) -> dict[str, bool]:
    return getattr(parsed, "feature_gates", {})


def _scheduler(parsed: Namespace) -> Setup:
    """Return the scheduler's options and profiles. Raises ``ConfigurationError``, ``OptionError``."""
    scheduler = set_up(**options_of_gates(explicit_options(SchedulerOptions, parsed), _feature_gates(parsed)))
    check_leader_election(scheduler.options)
    return scheduler


@contextmanager
def _errors_of_flags(flag_parser: FlagParser) -> Iterator[None]:
    """End the process with an error of a flag, or of the file that it names."""
    try:
        yield
    except ConfigurationError as error:
        flag_parser.error(f"--config: {error}")
    except OptionError as error:
        flag_parser.error(str(error))


def parser(command: str) -> FlagParser:
    """Return the parser, with a flag for each option; of options with the same name in several structs, the last takes precedence."""
    flag_parser = FlagParser(command, PAGES[command], conflict_handler="resolve")
    if command == "scheduler":
        add_table(flag_parser, SCHEDULER_FLAGS, SchedulerOptions, SchedulerServing)
    else:
        structs: list[type[msgspec.Struct]] = [NodesOptions]
        if command == "components":
            structs += [SchedulerOptions, ManagerOptions]
        for options in structs:
            add_options(flag_parser, options, _TEXTS)
    if command == "components":
        flag_parser.add_argument(ARGUMENTS_FROM_PARENT, action="store_true", help=argparse.SUPPRESS)
        flag_parser.add_argument("--health-socket", default="", help=argparse.SUPPRESS)
    add_log_flags(flag_parser)
    add_version_flag(flag_parser)
    add_process_flags(flag_parser)
    return flag_parser
