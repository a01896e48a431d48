"""``steersman scheduler``, ``steersman nodes``, and what ``up`` starts: both and the controllers in one process."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from steersman.cli.option_flags import add_options, add_process_flags, given, run_process
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane.companions import run_all, run_nodes, run_scheduler
from steersman.nodes.node_object import TemplateError
from steersman.nodes.options import NodesOptions
from steersman.scheduler.configuration.errors import ConfigurationError
from steersman.scheduler.options import SchedulerOptions, set_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

_TEXTS: Final = {
    "kubeconfig": "how to reach the cluster; default: $KUBECONFIG, the pod's service account, ~/.kube/config",
    "config": "file with a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)",
    "kube_api_qps": "requests a second to the API server, 0 for no limit",
    "kube_api_burst": "requests that may come at once",
    "scheduler_name": "pods with this schedulerName are scheduled",
    "percentage_of_nodes_to_score": "hundredths of the nodes that are compared, 0 for fewer the larger the cluster",
    "pod_max_in_unschedulable_pods_duration_seconds": "how long a pod waits for what may help before it is tried anyhow",
    "leader_elect": "whether several of this process take turns",
    "address": "where /healthz and /metrics are served, in plain HTTP",
    "port": "port of these pages, 0 for none",
    "nodes": "how many nodes there are",
    "node_template": "YAML file that says what the nodes have",
    "simulated_storage": "whether volumes are made for claims, by a default StorageClass",
    "stages": "how pods and nodes live: default, never-end, or files of KWOK stages, comma-separated",
    "process_pods": "run pods that ask for it as local processes, as the user who runs this",
    "process_dir": "where files of such pods lie; default: below the folder for temporary files",
    "kubelet_address": "where the nodes' kubelet listens",
    "kubelet_port": "its port, 0 for any free one",
    "kubelet_certificate_file": "its certificate",
    "kubelet_key_file": "the key of that",
    "kubelet_client_ca_file": "the CA of those who may ask it; without these three files it does not listen",
}


def run(command: str, arguments: Sequence[str]) -> int:
    """Runs until a signal or the loss of the lease; returns the exit code."""
    made = parser(command)
    parsed = made.parse_args(arguments)
    nodes = NodesOptions(**given(NodesOptions, parsed))
    try:
        nodes.templates(), nodes.pod_stages(), nodes.node_stages()
    except TemplateError as error:
        made.error(str(error))
    pipe = parsed.parent_pipe
    if command == "nodes":
        return run_process(run_nodes(nodes, parent_pipe=pipe), parsed)
    try:
        scheduler = set_up(**given(SchedulerOptions, parsed))
    except ConfigurationError as error:
        made.error(f"--config: {error}")
    if command == "scheduler":
        return run_process(run_scheduler(scheduler, parent_pipe=pipe), parsed)
    controllers = ManagerOptions(**given(ManagerOptions, parsed))
    return run_process(
        run_all(
            controllers,
            scheduler,
            nodes,
            parent_pipe=pipe,
            begun_seconds=parsed.begun,
            health_socket=parsed.health_socket,
        ),
        parsed,
    )


def parser(command: str) -> argparse.ArgumentParser:
    """All flags: one for each option; of options with one name in several structs, the first counts."""
    made = argparse.ArgumentParser(f"steersman {command}", allow_abbrev=False, conflict_handler="resolve")
    structs: dict[str, list[type[msgspec.Struct]]] = {"scheduler": [SchedulerOptions], "nodes": [NodesOptions]}
    for options in structs.get(command, [NodesOptions, SchedulerOptions, ManagerOptions]):
        add_options(made, options, _TEXTS)
    if command == "companions":
        made.add_argument("--begun", type=float, help=argparse.SUPPRESS)
        made.add_argument("--health-socket", default="", help=argparse.SUPPRESS)
    add_process_flags(made)
    return made
