"""``steersman controller-manager``: flags named as kube-controller-manager's, to ``ManagerOptions``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

from steersman.cli import values
from steersman.cli.component_checks import check_controllers
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.cli.option_flags import COMMON_HELP, add_options, add_process_flags, given, run_process
from steersman.client import aiohttp_transport
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.registry import REGISTRY, preload
from steersman.controlplane.controller_manager import run_controller_manager
from steersman.controlplane.feature_gates import check_feature_gates
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Help texts of flags whose names do not explain them.
_HELP: Final = {
    **COMMON_HELP,
    "controllers": "Controllers to run: names, -names to leave out, * for all that are on by default",
    "use_service_account_credentials": "Use the credentials of a separate service account for each controller",
    "kube_api_qps": "Maximum number of requests per second of each client; 0 for no limit",
    "kube_api_burst": "Maximum burst of requests of each client, when there is a limit",
    "min_resync_period_seconds": "Minimum resync period of informers; the actual one is random, up to twice this",
    "leader_elect_identity": "Name of this process in elections (default the host name and a random suffix)",
    "root_ca_file": "File with the certificate authority that is published to every namespace",
    "service_account_private_key_file": "File with the private key that signs tokens in Secrets",
}
#: Flags of kube-controller-manager about serving, logging and metrics that have no effect. They are accepted with a
#: warning, so that its command lines can be used.
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
    """Run until a signal or the loss of the lease; return the exit code."""
    options, process = parse(arguments)
    aiohttp_transport.preload()
    preload(options.controllers)
    return run_process(run_controller_manager(options, parent_pipe=process.parent_pipe), process)


def parse(arguments: Sequence[str]) -> tuple[ManagerOptions, argparse.Namespace]:
    """Return the options and all values. Exit with a message for flags that cannot be used."""
    made = parser()
    parsed = made.parse_args(arguments)
    given_options = given(ManagerOptions, parsed)
    if "coordinated_leader_election" not in given_options and parsed.feature_gates.get(_COORDINATED):
        given_options["coordinated_leader_election"] = True
    for flag in dict.fromkeys(parsed.without_effect):
        sys.stderr.write(f"steersman: {flag} has no effect\n")
    options = ManagerOptions(**given_options)
    try:
        warnings = check_feature_gates(parsed.feature_gates)
        check_controllers(options)
    except OptionError as error:
        made.error(str(error))
    for warning in warnings:
        sys.stderr.write(f"steersman: {warning}\n")
    return options, parsed


def parser() -> FlagParser:
    """Return the parser, with a flag for each option."""
    names = ", ".join(entry.name for entry in REGISTRY if entry.module)
    page = PAGES["controller-manager"]
    made = FlagParser("controller-manager", page._replace(epilog=f"Controllers: {names}."))
    add_options(made, ManagerOptions, _HELP)
    made.add_argument("--feature-gates", type=values.feature_gates, default={}, metavar="GATES",
                      help="name=true|false pairs; only CoordinatedLeaderElection has an effect")  # fmt: skip
    add_process_flags(made)
    made.add_argument(
        *(f"--{name}" for name in _WITHOUT_EFFECT), nargs="?", dest="without_effect", default=(), action=_Note,
        help=argparse.SUPPRESS,
    )  # fmt: skip
    return made


class _Note(argparse.Action):
    """Record the flag and drop its value."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Record one occurrence."""
        namespace.without_effect = (*namespace.without_effect, option_string)
