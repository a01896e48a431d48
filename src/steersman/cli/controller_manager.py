"""``steersman controller-manager``: flags named as kube-controller-manager's, to ``ManagerOptions``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

from steersman.cli import values
from steersman.cli.option_flags import add_options, add_process_flags, given, run_process
from steersman.client import aiohttp_transport
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.registry import REGISTRY, preload, unknown
from steersman.controlplane.controller_manager import run_controller_manager

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What is not said by the name.
_HELP: Final = {
    "controllers": "which to run: names, -names to leave out, * for all that are on by default",
    "kubeconfig": "how to reach the cluster; default: $KUBECONFIG, the pod's service account, ~/.kube/config",
    "use_service_account_credentials": "whether each controller acts as its own service account",
    "kube_api_qps": "requests a second of each client, 0 for no limit",
    "kube_api_burst": "requests that may come at once where there is a limit",
    "min_resync_period_seconds": "informers tell everything anew after this to twice this, 0 for never",
    "leader_elect": "whether several of this process take turns",
    "leader_elect_resource_lock": "what is held: leases",
    "leader_elect_identity": "name of this process in elections; default: the host's with a random part",
    "address": "where /healthz and /metrics are served, in plain HTTP",
    "port": "port of these pages, 0 for none",
}
#: Flags of kube-controller-manager that change nothing about what controllers do here: how it serves, logs and counts.
#: They are accepted, so that its command lines can be used, and said to be without effect.
_WITHOUT_EFFECT: Final = (
    "allow-metric-labels", "allow-metric-labels-manifest", "authentication-kubeconfig", "authentication-skip-lookup",
    "authentication-token-webhook-cache-ttl", "authentication-tolerate-lookup-failure",
    "authorization-always-allow-paths", "authorization-kubeconfig", "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl", "bind-address", "cert-dir", "client-ca-file",
    "contention-profiling", "disable-http2-serving", "disabled-metrics", "http2-max-streams-per-connection",
    "kube-api-content-type", "log-flush-frequency", "log-text-info-buffer-size", "log-text-split-stream",
    "permit-address-sharing", "permit-port-sharing", "profiling", "requestheader-allowed-names",
    "requestheader-client-ca-file", "requestheader-extra-headers-prefix", "requestheader-group-headers",
    "requestheader-uid-headers", "requestheader-username-headers", "secure-port", "show-hidden-metrics-for-version",
    "tls-cert-file", "tls-cipher-suites", "tls-curve-preferences", "tls-min-version", "tls-private-key-file",
    "tls-sni-cert-key",
)  # fmt: skip
_COORDINATED: Final = "CoordinatedLeaderElection"


def run(arguments: Sequence[str]) -> int:
    """Runs until a signal or the loss of the lease; returns the exit code."""
    options, process = parse(arguments)
    aiohttp_transport.preload()
    preload(options.controllers)
    return run_process(run_controller_manager(options, parent_pipe=process.parent_pipe), process)


def parse(arguments: Sequence[str]) -> tuple[ManagerOptions, argparse.Namespace]:
    """The options, and what concerns the process. Exits with a message for flags that are unknown or make no sense."""
    made = parser()
    parsed = made.parse_args(arguments)
    said = given(ManagerOptions, parsed)
    if "coordinated_leader_election" not in said and parsed.feature_gates.get(_COORDINATED):
        said["coordinated_leader_election"] = True
    for flag in dict.fromkeys(parsed.without_effect):
        sys.stderr.write(f"steersman: {flag} has no effect here\n")
    strangers = unknown(said.get("controllers", ()))
    if strangers:
        made.error(f"--controllers: {', '.join(map(repr, strangers))} is not in the list of known controllers")
    return ManagerOptions(**said), parsed


def parser() -> argparse.ArgumentParser:
    """All flags: one for each option."""
    made = argparse.ArgumentParser(
        "steersman controller-manager",
        description="Run controllers against the cluster of a kubeconfig.",
        epilog=f"Controllers: {', '.join(entry.name for entry in REGISTRY if entry.module)}.",
        allow_abbrev=False,
    )
    add_options(made, ManagerOptions, _HELP)
    made.add_argument("--feature-gates", type=values.switches, default={}, help="name=true|false, comma-separated")
    add_process_flags(made)
    made.add_argument(
        *(f"--{name}" for name in _WITHOUT_EFFECT), nargs="?", dest="without_effect", default=(), action=_Note,
        help=argparse.SUPPRESS,
    )  # fmt: skip
    return made


class _Note(argparse.Action):
    """Keeps the flag and forgets its value."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Called for each time it is given."""
        namespace.without_effect = (*namespace.without_effect, option_string)
