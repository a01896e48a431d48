"""Flags that all Kubernetes components have: logs, metrics, debugging, feature gates, TLS, leader election, ``--version``.

Upstream: ``k8s.io/component-base`` (``logs``, ``metrics``, ``compatibility``, ``config/options``, ``version/verflag``).
"""

from __future__ import annotations

import argparse
import platform
import sys
from typing import TYPE_CHECKING, Any, Final

from steersman.cli import logs, values
from steersman.cli.flag_parser import Accumulate
from steersman.cli.flag_table import Flag, group_of
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.cli.flag_parser import FlagParser

_NO_PPROF: Final = "there is no Go runtime to profile"

DEBUGGING_FLAGS: Final = (
    Flag("contention-profiling", values.boolean, "Profile lock contention", unused=_NO_PPROF),
    Flag("profiling", values.boolean, "Serve profiles at /debug/pprof and the verbosity of the log at /debug/flags/v"),
)
TLS_POLICY_FLAGS: Final = (
    Flag(
        "tls-cipher-suites",
        values.names,
        "Cipher suites for TLS 1.2, by their IANA names (default those of OpenSSL)",
    ),
    Flag(
        "tls-curve-preferences",
        values.integers,
        "Curves for the key exchange by their numeric IDs, the most preferred first (default those of OpenSSL)",
    ),
    Flag(
        "tls-min-version",
        values.tls_version,
        "Minimum TLS version: VersionTLS12 (the default) or VersionTLS13; older ones are raised to VersionTLS12",
    ),
)
TLS_SNI_FLAG: Final = Flag(
    "tls-sni-cert-key",
    values.certificate_pairs,
    "Certificate and key for some host names: cert.pem,key.pem or cert.pem,key.pem:*.foo.com,foo.com; without names, for"
    " those of the certificate; may be repeated",
)
FEATURE_FLAGS: Final = (
    Flag(
        "emulated-version",
        values.emulated_versions,
        "Kubernetes version whose APIs and feature gates are emulated, such as kube=1.36",
    ),
    Flag("feature-gates", values.feature_gates, "name=true|false pairs for feature gates of Kubernetes 1.36"),
    Flag(
        "min-compatibility-version",
        values.emulated_versions,
        "Oldest version of other components that must be supported, such as kube=1.35",
        unused="it has no effect on a Kubernetes 1.36 without emulation either",
    ),
)
METRICS_FLAGS: Final = (
    Flag(
        "allow-metric-labels",
        values.string_to_string,
        "Allowed values of labels, others become unexpected: metric,label=value,value; several in quotes or by repetition",
    ),
    Flag("allow-metric-labels-manifest", str, "File with a map of metric,label to value,value"),
    Flag("disabled-metrics", values.names, "Full names of metrics that are not served"),
    Flag(
        "show-hidden-metrics-for-version",
        values.previous_version,
        "Version whose deprecated metrics are served",
        unused="no metric is hidden",
    ),
)
LOGS_FLAGS: Final = (
    Flag(
        "log-flush-frequency",
        values.duration,
        "Maximum time between flushes of the log",
        unused="every line is written at once",
    ),
    Flag(
        "log-text-info-buffer-size",
        str,
        "Size of the buffer of info messages, with --log-text-split-stream",
        unused="every line is written at once",
    ),
    Flag(
        "log-text-split-stream",
        values.boolean,
        "Write errors to stderr and info messages to stdout",
        unused="all lines go to stderr; the flag is alpha in Kubernetes",
    ),
)
LEADER_ELECTION_FLAGS: Final = (
    Flag("leader-elect", values.boolean, "Run leader election, so that one of several processes is active"),
    Flag(
        "leader-elect-lease-duration",
        values.duration,
        "Time after which other candidates may take an unrenewed lease",
    ),
    Flag(
        "leader-elect-renew-deadline",
        values.duration,
        "Time in which the leader must renew its lease before it stops leading",
    ),
    Flag("leader-elect-resource-lock", str, "Type of the lock object: leases"),
    Flag("leader-elect-resource-name", str, "Name of the Lease"),
    Flag("leader-elect-resource-namespace", str, "Namespace of the Lease"),
    Flag("leader-elect-retry-period", values.duration, "Time between attempts to acquire or renew the lease"),
)
#: Flags of this project in addition to those of Kubernetes components.
OWN_FLAGS: Final = (
    Flag(
        "leader-elect-restart", values.boolean, "Contend again after the lease is lost, in place of exiting with code 1"
    ),
    Flag(
        "coordinated-leader-election",
        values.boolean,
        "Take part in coordinated leader election, as --feature-gates=CoordinatedLeaderElection=true",
    ),
    Flag("address", values.ip, "IP address for /healthz and /metrics, in plain HTTP"),
    Flag("port", values.port, "Port for /healthz and /metrics, in plain HTTP without authentication; 0 for none"),
)
#: Values that are no options: they are validated, and set other options.
HANDLED: Final = frozenset({"feature_gates"})


def options_of_gates(options: Mapping[str, Any], gates: Mapping[str, bool]) -> dict[str, Any]:
    """Return ``options`` of a component with those that feature gates set, unless a flag sets them."""
    if gates.get("CoordinatedLeaderElection"):
        return {"coordinated_leader_election": True, **options}
    return dict(options)


def add_log_flags(parser: FlagParser) -> None:
    """Add the flags for ``logs.set_up``."""
    group = group_of(parser, "logs")
    group.add_argument("--logging-format", choices=logs.FORMATS, default="text", metavar="FORMAT",
                       help='Format of the log: text or json (default "text")')  # fmt: skip
    group.add_argument("--v", "-v", type=values.count, default=0, metavar="LEVEL",
                       help="Number for the log level verbosity, 0 to 4 (default 0)")  # fmt: skip
    group.add_argument("--vmodule", type=values.module_levels, action=Accumulate, default=(), metavar="PATTERNS",
                       help="Verbosity of some modules: pattern=N,other=N")  # fmt: skip


def add_version_flag(parser: FlagParser) -> None:
    """Add ``--version``."""
    group = group_of(parser, "global")
    group.add_argument("--version", action=_Version, nargs="?", const="true", default=argparse.SUPPRESS,
                       metavar="VERSION", help="Print the version and exit; --version=raw for all details")  # fmt: skip


def version_text(*, is_raw: bool) -> str:
    """Return the line of ``--version``, or of ``--version=raw`` with the fields of Go's ``version.Info``."""
    if not is_raw:
        return f"Kubernetes {KUBERNETES_VERSION} (steersman {__version__})"
    major, minor, *_ = KUBERNETES_VERSION.removeprefix("v").split(".")
    fields = {
        "Major": major,
        "Minor": minor,
        "GitVersion": KUBERNETES_VERSION,
        "Compiler": platform.python_implementation(),
        "Platform": f"{sys.platform}/{platform.machine()}",
        "SteersmanVersion": __version__,
    }
    return "version.Info{" + ", ".join(f'{name}:"{value}"' for name, value in fields.items()) + "}"


class _Version(argparse.Action):
    """Write the version and exit; ``--version=false`` does nothing."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Exit, or do nothing."""
        if values not in ("true", "raw"):
            if values == "false":
                return
            raise argparse.ArgumentError(
                None, f'invalid argument "{values}" for "--version" flag: must be true, false or raw'
            )
        sys.stdout.write(version_text(is_raw=values == "raw") + "\n")
        sys.exit(0)
