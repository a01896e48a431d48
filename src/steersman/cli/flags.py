"""Flags of ``up`` and ``apiserver``, named as kube-apiserver's where it has them, to ``APIServerOptions``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

from steersman.cli import values
from steersman.cli.apiserver_flags import API_SERVER_FLAGS
from steersman.cli.base_flags import HANDLED, add_log_flags, add_version_flag
from steersman.cli.flag_parser import FlagParser
from steersman.cli.flag_table import add_table, deprecations, group_of, without_effect
from steersman.cli.help_pages import PAGES
from steersman.cli.selection import plane_name
from steersman.controlplane.options import REPLACEABLE, APIServerOptions, OptionError, default_data_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Reason why flags about etcd have no effect.
_EMBEDDED: Final = "objects are kept in the embedded store of --storage or --ephemeral, not in etcd"


def parser(command: str) -> FlagParser:
    """Return the parser of ``up`` or ``apiserver``."""
    flag_parser = FlagParser(command, PAGES[command])
    add_table(flag_parser, API_SERVER_FLAGS, APIServerOptions)
    storage = group_of(flag_parser, "storage")
    storage.add_argument("--storage", choices=("sqlite", "memory"), help='Storage of the objects (default "sqlite")')
    _add_switch(storage, "ephemeral", "Keep all objects in memory and the certificates in a temporary directory")
    group_of(flag_parser, "secure serving").add_argument(
        "--port", dest="secure_port", type=values.port, default=argparse.SUPPRESS, metavar="PORT",
        help="Port to listen on, as --secure-port; 0 for any free port (default 6443)",
    )  # fmt: skip
    if command == "up":
        _add_component_flags(flag_parser)
    process = flag_parser.add_argument_group("process")
    process.add_argument("--name", type=plane_name, default=argparse.SUPPRESS, metavar="NAME",
                         help="Name of this control plane, to run several: context steersman-NAME")  # fmt: skip
    process.add_argument("--kubeconfig", type=values.path, metavar="FILE",
                         help="File to write the administrator's kubeconfig to (default in the data directory)")  # fmt: skip
    _add_switch(process, "merge", "Also add the context to your own kubeconfig and make it the current one")
    _add_switch(process, "die-with-parent", "Stop when the parent process ends")
    process.add_argument("--parent-pipe", type=values.count, help=argparse.SUPPRESS)
    add_log_flags(flag_parser)
    add_version_flag(flag_parser)
    return flag_parser


def _add_switch(group: argparse._ArgumentGroup, name: str, text: str) -> None:
    """Add a boolean flag that is false by default."""
    group.add_argument(
        f"--{name}", type=values.boolean, nargs="?", const=True, default=False, help=text, metavar="BOOL"
    )


def _add_component_flags(flag_parser: FlagParser) -> None:
    """Add the flags of ``up`` for the components that run besides the API server; see ``component_flags``."""
    group = flag_parser.add_argument_group("nodes and controllers")
    group.add_argument("--nodes", type=values.count, metavar="NUMBER", help="Number of simulated nodes (default 1)")
    group.add_argument("--node-template", type=values.path, metavar="FILE",
                       help="YAML file with capacity, labels and taints of the nodes")  # fmt: skip
    group.add_argument("--stages", metavar="STAGES",
                       help="Lifecycle of pods and nodes: default, never-end, or files with KWOK stages")  # fmt: skip
    group.add_argument("--chaos", type=values.path, metavar="FILE",
                       help="YAML file of rules that make pods and nodes fail, drawn from its seed")  # fmt: skip
    group.add_argument("--process-pods", type=values.boolean, nargs="?", const=True, metavar="BOOL",
                       help="Run pods that ask for it as local processes of your user")  # fmt: skip
    group.add_argument("--process-isolation", metavar="MODE",
                       help="Isolation of such pods: auto (namespaces where the machine allows them), namespaces or none")  # fmt: skip
    group.add_argument("--process-images", type=values.path, metavar="FILE",
                       help="YAML file of local commands that stand for images of such pods")  # fmt: skip
    group.add_argument("--process-dir", type=values.path, metavar="DIR",
                       help="Directory for files of such pods (default below the temporary directory)")  # fmt: skip
    group.add_argument("--pod-events", type=values.boolean, nargs="?", const=True, metavar="BOOL",
                       help="Record the kubelet's Normal events about pods, at most 50 a second (default true)")  # fmt: skip
    group.add_argument("--simulated-storage", type=values.boolean, nargs="?", const=True, metavar="BOOL",
                       help="Provision volumes for claims, with a default StorageClass (default true)")  # fmt: skip
    group.add_argument("--metrics", type=values.boolean, nargs="?", const=True, metavar="BOOL",
                       help="Serve metrics.k8s.io with made-up usage, for kubectl top and autoscalers")  # fmt: skip
    group.add_argument("--wait", type=values.boolean, nargs="?", const=True, default=True, metavar="BOOL",
                       help="Report readiness only when pods can be created and a node is Ready (default true)")  # fmt: skip
    group.add_argument("--controllers", type=values.controllers, metavar="NAMES",
                       help="Controllers to run: names, -names to leave out, * for all on by default (default *)")  # fmt: skip
    group.add_argument("--coordinated-elections", dest="coordinated_leader_election", type=values.boolean, nargs="?",
                       const=True, metavar="BOOL",
                       help="Make controllers and scheduler candidates of coordinated leader election")  # fmt: skip


def parse(command: str, arguments: Sequence[str]) -> tuple[APIServerOptions, argparse.Namespace]:
    """Return the options of the API server and all values. Exit with a message for invalid flags."""
    flag_parser = parser(command)
    parsed = flag_parser.parse_args(arguments)
    if parsed.ephemeral and parsed.storage == "sqlite":
        flag_parser.error("--ephemeral is --storage memory, not --storage sqlite")
    for message in deprecations(parsed, API_SERVER_FLAGS):
        sys.stderr.write(f"{message}\n")
    parsed.warnings = without_effect(parsed, API_SERVER_FLAGS, APIServerOptions, handled=HANDLED)
    values = {name: value for name, value in vars(parsed).items() if name in APIServerOptions.__struct_fields__}
    values["ephemeral"] = parsed.ephemeral or parsed.storage == "memory"
    values["explicit_flags"] = tuple(sorted(name for name in values if name.startswith(REPLACEABLE)))
    if not values.get("etcd_servers") or parsed.ephemeral or parsed.storage:
        parsed.warnings += _drop_etcd(values)
    if values.get("data_dir") is None and not values["ephemeral"]:
        values["data_dir"] = default_data_dir(values.get("name", ""))
    return APIServerOptions(**values), parsed


def _drop_etcd(values: dict[str, Any]) -> list[str]:
    """Remove the options of etcd, whose files need not exist; return a message for each."""
    flags = [flag for flag in API_SERVER_FLAGS["etcd"] if flag.target.startswith("etcd_") and flag.target in values]
    for flag in flags:
        del values[flag.target]
    return [f"flag --{flag.name} has no effect: {_EMBEDDED}" for flag in flags]


#: Flags of ``up`` for the components that run besides the API server.
_COMPONENT_FLAGS = (
    "nodes", "node_template", "stages", "chaos", "pod_events", "simulated_storage", "process_pods", "process_isolation", "process_images", "process_dir",
    "metrics", "controllers",
    "coordinated_leader_election",
)  # fmt: skip


def component_flags(parsed: argparse.Namespace) -> list[str]:
    """Return the flags for the components that run besides the API server. Raise ``OptionError``."""
    values = {name: getattr(parsed, name) for name in _COMPONENT_FLAGS if getattr(parsed, name) is not None}
    if values.keys() & {"node_template", "stages", "chaos", "process_isolation", "process_images", "process_dir"}:
        from steersman.nodes.options import NodesOptions  # noqa: PLC0415 — few starts need it

        fields = {name: value for name, value in values.items() if name in NodesOptions.__struct_fields__}
        try:
            NodesOptions(**fields).check()
        except ValueError as error:
            raise OptionError(str(error)) from error
    texts = {name: ",".join(value) if isinstance(value, tuple) else value for name, value in values.items()}
    if parsed.vmodule:
        texts["vmodule"] = ",".join(f"{pattern}={level}" for pattern, level in parsed.vmodule)
    return [f"--{name.replace('_', '-')}={value}" for name, value in texts.items()]
