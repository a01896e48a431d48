"""Flags of ``up`` and ``apiserver``, named as kube-apiserver's where it has them, to ``APIServerOptions``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.cli import logs, values
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.cli.selection import plane_name
from steersman.controlplane.options import APIServerOptions, OptionError, default_data_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DEFAULTS = APIServerOptions()


class Flag(msgspec.Struct, frozen=True):
    """A flag and the option that its value sets: ``option``, or the one of the same name."""

    name: str
    type: Callable[[str], Any]
    help: str
    option: str = ""

    @property
    def target(self) -> str:
        """Name of the option."""
        return self.option or self.name.replace("-", "_")


def _batch_flags(sink: str, done: str) -> tuple[Flag, ...]:
    """Return the flags about batches and sizes, which the audit log and the audit webhook share."""
    name = f"audit-{sink}"
    return (
        Flag(f"{name}-batch-buffer-size", values.count, f"Maximum number of events that wait to be {done}"),
        Flag(f"{name}-batch-max-size", values.count, "Maximum number of events of a batch, in mode batch"),
        Flag(
            f"{name}-batch-max-wait",
            values.duration,
            f"Time after which a batch that is not full is {done}, in mode batch",
            f"audit_{sink}_batch_max_wait_seconds",
        ),
        Flag(f"{name}-batch-throttle-enable", values.boolean, "Limit the rate of batches"),
        Flag(f"{name}-batch-throttle-qps", values.number, "Average number of batches per second, when throttling"),
        Flag(f"{name}-batch-throttle-burst", values.count, "Maximum burst of batches, when throttling"),
        Flag(f"{name}-truncate-enabled", values.boolean, "Remove the objects from events that are too large"),
        Flag(f"{name}-truncate-max-event-size", values.count, "Maximum size of an event in bytes, when truncating"),
        Flag(f"{name}-truncate-max-batch-size", values.count, "Maximum size of a batch in bytes, when truncating"),
    )


#: Groups of flags, in the order of ``--help-all``.
FLAGS: dict[str, tuple[Flag, ...]] = {
    "storage": (
        Flag(
            "data-dir",
            values.path,
            "Directory for the database and the certificates (default the user's state directory)",
        ),
    ),
    "serving": (
        Flag("bind-address", values.ip, "IP address to listen on"),
        Flag("secure-port", values.port, "Port to listen on; 0 for any free port"),
        Flag(
            "advertise-address",
            values.ip,
            "IP address that members of the cluster use to reach the API server (default the address it listens on)",
        ),
        Flag(
            "tls-cert-file",
            values.path,
            "File with the x509 certificate for HTTPS, followed by intermediate certificates (default a generated one)",
        ),
        Flag("tls-private-key-file", values.path, "File with the private key of --tls-cert-file"),
        Flag(
            "request-timeout",
            values.duration,
            "Time after which a request that is not long-running is ended",
            "request_timeout_seconds",
        ),
        Flag(
            "min-request-timeout",
            values.count,
            "Minimum number of seconds that a watch stays open; the actual time is random, up to twice this",
            "min_request_timeout_seconds",
        ),
        Flag(
            "max-requests-inflight", values.count, "Maximum number of concurrent non-mutating requests; 0 for no limit"
        ),
        Flag(
            "max-mutating-requests-inflight",
            values.count,
            "Maximum number of concurrent mutating requests; 0 for no limit",
        ),
        Flag(
            "enable-priority-and-fairness",
            values.boolean,
            "Enable API priority and fairness: share the limit on concurrent requests by FlowSchemas and priority levels",
        ),
    ),
    "access": (
        Flag(
            "client-ca-file",
            values.path,
            "File with further certificate authorities whose client certificates are accepted",
        ),
        Flag("token-auth-file", values.path, 'CSV file with static bearer tokens: token,user,uid,"group1,group2"'),
        Flag("anonymous-auth", values.boolean, "Allow requests without credentials, as user system:anonymous"),
        Flag(
            "enable-bootstrap-token-auth",
            values.boolean,
            "Accept bootstrap tokens (Secrets of type bootstrap.kubernetes.io/token in kube-system)",
        ),
        Flag(
            "authorization-mode",
            values.names,
            "Ordered list of authorization plugins: AlwaysAllow, AlwaysDeny, Node, RBAC",
        ),
        Flag(
            "service-account-issuer",
            values.names,
            "Issuer of service account tokens; of several, the first one issues and all are accepted",
        ),
        Flag(
            "service-account-jwks-uri",
            str,
            "URL of the JSON Web Key Set in the OpenID discovery document (default on this server)",
        ),
        Flag(
            "service-account-max-token-expiration",
            values.duration,
            "Maximum validity of a service account token; 0 for no limit",
            "service_account_max_token_expiration_seconds",
        ),
        Flag(
            "service-account-extend-token-expiration",
            values.boolean,
            "Extend the expiration of injected service account tokens, for clients that do not reload them",
        ),
        Flag("api-audiences", values.names, "Audiences that tokens for this API server name (default the issuers)"),
        Flag(
            "service-account-signing-key-file",
            values.path,
            "File with the private key that signs service account tokens (default a generated one)",
        ),
        Flag(
            "service-account-key-file",
            values.paths,
            "Files with public or private keys that verify service account tokens (default the signing key)",
        ),
    ),
    "OpenID Connect": (
        Flag("oidc-issuer-url", str, "URL of the OpenID issuer; only https is accepted"),
        Flag("oidc-client-id", str, "Client ID that ID tokens must be issued for"),
        Flag("oidc-ca-file", values.path, "File with the certificate authority of the issuer (default the system's)"),
        Flag("oidc-username-claim", str, "Claim used as the user name"),
        Flag("oidc-username-prefix", str, "Prefix of user names (default the issuer URL and #); - for no prefix"),
        Flag("oidc-groups-claim", str, "Claim used as the groups of the user"),
        Flag("oidc-groups-prefix", str, "Prefix of groups"),
        Flag("oidc-required-claim", values.pairs, "name=value pairs that ID tokens must contain"),
        Flag("oidc-signing-algs", values.names, "Accepted signing algorithms of ID tokens"),
    ),
    "auditing": (
        Flag("audit-policy-file", values.path, "File with the audit policy (audit.k8s.io/v1)"),
        Flag("audit-log-path", str, "File for audit events; - for standard output"),
        Flag("audit-log-format", str, "Format of the audit log: json or legacy"),
        Flag("audit-log-version", str, "API version of events in the audit log"),
        Flag("audit-log-mode", str, "How events are written: blocking, blocking-strict or batch"),
        Flag(
            "audit-log-maxsize", values.count, "Size in megabytes after which the audit log is rotated; 0 for no limit"
        ),
        Flag("audit-log-maxage", values.count, "Days for which rotated audit logs are kept; 0 for no limit"),
        Flag("audit-log-maxbackup", values.count, "Number of rotated audit logs that are kept; 0 for no limit"),
        Flag("audit-log-compress", values.boolean, "Compress rotated audit logs with gzip"),
        *_batch_flags("log", "written"),
        Flag("audit-webhook-config-file", values.path, "Kubeconfig of the server that receives audit events"),
        Flag("audit-webhook-version", str, "API version of events sent to the webhook"),
        Flag("audit-webhook-mode", str, "How events are sent: blocking, blocking-strict or batch"),
        Flag(
            "audit-webhook-initial-backoff",
            values.duration,
            "Time to wait before the first retry of a failed request",
            "audit_webhook_initial_backoff_seconds",
        ),
        *_batch_flags("webhook", "sent"),
    ),
    "API": (
        Flag(
            "service-cluster-ip-range",
            str,
            "CIDR for cluster IPs of Services; two, one of each IP family, for dual stack",
        ),
        Flag("service-node-port-range", values.port_range, "Ports for Services of type NodePort (default 30000-32767)"),
        Flag(
            "kubernetes-service-node-port",
            values.port,
            "Node port of the Service kubernetes; 0 for a Service of type ClusterIP",
        ),
        Flag(
            "endpoint-reconciler-type",
            str,
            "How API servers publish their addresses in the Endpoints kubernetes: lease, master-count or none",
        ),
        Flag("apiserver-count", values.count, "Number of API servers, for --endpoint-reconciler-type=master-count"),
        Flag(
            "system-namespaces",
            values.names,
            "Namespaces that are created at the start and recreated when they are deleted",
        ),
        Flag("allow-privileged", values.boolean, "Allow privileged containers"),
        Flag("enable-admission-plugins", values.names, "Admission plugins to enable in addition to the default ones"),
        Flag("disable-admission-plugins", values.names, "Admission plugins to disable"),
        Flag(
            "admission-control-config-file",
            values.path,
            "File with the configuration of admission plugins (AdmissionConfiguration)",
        ),
        Flag(
            "feature-gates",
            values.feature_gates,
            "name=true|false pairs for feature gates of Kubernetes 1.36; only CoordinatedLeaderElection and"
            " AllowUnsafeMalformedObjectDeletion have an effect",
        ),
        Flag(
            "runtime-config", values.runtime_config, "group/version=true|false pairs; built-in APIs are always served"
        ),
    ),
}


def _etcd_servers(text: str) -> str:
    del text
    raise argparse.ArgumentTypeError("etcd is not supported yet, use --storage sqlite (the default) or memory")


def _add(group: argparse._ArgumentGroup, flag: Flag) -> None:
    text = flag.help
    default = getattr(_DEFAULTS, flag.target)
    if isinstance(default, tuple) and all(isinstance(each, str) for each in default):
        default = ",".join(default)
    if isinstance(default, str | int | float) and default != "":
        if flag.type is values.duration:
            default = f"{default:g}s"
        text = f"{text} (default {str(default).lower() if isinstance(default, bool) else default})"
    # A boolean flag may stand alone, as in pflag.
    alone: dict[str, Any] = {"nargs": "?", "const": True} if flag.type is values.boolean else {}
    group.add_argument(
        f"--{flag.name}", dest=flag.target, type=flag.type, help=text, default=argparse.SUPPRESS,
        metavar="BOOL" if alone else flag.name.rsplit("-", 1)[-1].upper(), **alone,
    )  # fmt: skip


def parser(command: str) -> FlagParser:
    """Return the parser of ``up`` or ``apiserver``."""
    made = FlagParser(command, PAGES[command])
    for title, flags in FLAGS.items():
        group = made.add_argument_group(title)
        for flag in flags:
            _add(group, flag)
        if title == "storage":
            group.add_argument(
                "--storage", choices=("sqlite", "memory"), help="Storage of the objects (default sqlite)"
            )
            _add_switch(group, "ephemeral", "Keep all objects in memory and the certificates in a temporary directory")
            group.add_argument("--etcd-servers", type=_etcd_servers, help=argparse.SUPPRESS)
        if title == "serving":
            group.add_argument("--port", dest="secure_port", type=values.port, default=argparse.SUPPRESS,
                               help="Port to listen on, as --secure-port; 0 for any free port (default 6443)", metavar="PORT")  # fmt: skip
    if command == "up":
        _add_component_flags(made)
    process = made.add_argument_group("process")
    process.add_argument("--name", type=plane_name, default=argparse.SUPPRESS, metavar="NAME",
                         help="Name of this control plane, to run several: context steersman-NAME")  # fmt: skip
    process.add_argument("--kubeconfig", type=values.path, metavar="FILE",
                         help="File to write the administrator's kubeconfig to (default in the data directory)")  # fmt: skip
    _add_switch(process, "merge", "Also add the context to your own kubeconfig and make it the current one")
    _add_switch(process, "die-with-parent", "Stop when the parent process ends")
    process.add_argument("--parent-pipe", type=values.count, help=argparse.SUPPRESS)
    process.add_argument("--logging-format", choices=logs.FORMATS, default="text", help="Format of log lines")
    process.add_argument("--v", "-v", type=values.count, default=0, metavar="LEVEL",
                         help="Number for the log level verbosity, 0 to 4 (default 0)")  # fmt: skip
    return made


def _add_switch(group: argparse._ArgumentGroup, name: str, text: str) -> None:
    """Add a boolean flag that is false by default."""
    group.add_argument(
        f"--{name}", type=values.boolean, nargs="?", const=True, default=False, help=text, metavar="BOOL"
    )


def _add_component_flags(made: FlagParser) -> None:
    """Add the flags of ``up`` for the components that run besides the API server; see ``component_flags``."""
    group = made.add_argument_group("nodes and controllers")
    group.add_argument("--nodes", type=values.count, metavar="NUMBER", help="Number of simulated nodes (default 1)")
    group.add_argument("--node-template", type=values.path, metavar="FILE",
                       help="YAML file with capacity, labels and taints of the nodes")  # fmt: skip
    group.add_argument("--stages", metavar="STAGES",
                       help="Lifecycle of pods and nodes: default, never-end, or files with KWOK stages")  # fmt: skip
    group.add_argument("--chaos", type=values.path, metavar="FILE",
                       help="YAML file of rules that make pods and nodes fail, drawn from its seed")  # fmt: skip
    group.add_argument("--process-pods", type=values.boolean, nargs="?", const=True, metavar="BOOL",
                       help="Run pods that ask for it as local processes of your user")  # fmt: skip
    group.add_argument("--process-dir", type=values.path, metavar="DIR",
                       help="Directory for files of such pods (default below the temporary directory)")  # fmt: skip
    group.add_argument("--simulated-storage", type=values.boolean, nargs="?", const=True, metavar="BOOL",
                       help="Provision volumes for claims, with a default StorageClass (default true)")  # fmt: skip
    group.add_argument("--wait", type=values.boolean, nargs="?", const=True, default=True, metavar="BOOL",
                       help="Report readiness only when pods can be created and a node is Ready (default true)")  # fmt: skip
    group.add_argument("--controllers", type=values.controllers, metavar="NAMES",
                       help="Controllers to run: names, -names to leave out, * for all on by default (default *)")  # fmt: skip
    group.add_argument("--coordinated-elections", dest="coordinated_leader_election", type=values.boolean, nargs="?",
                       const=True, metavar="BOOL",
                       help="Make controllers and scheduler candidates of coordinated leader election")  # fmt: skip


def parse(command: str, arguments: Sequence[str]) -> tuple[APIServerOptions, argparse.Namespace]:
    """Return the options of the API server and all values. Exit with a message for flags that cannot be used."""
    made = parser(command)
    parsed = made.parse_args(arguments)
    if parsed.ephemeral and parsed.storage == "sqlite":
        made.error("--ephemeral is --storage memory, not --storage sqlite")
    given = {name: value for name, value in vars(parsed).items() if name in APIServerOptions.__struct_fields__}
    given["ephemeral"] = parsed.ephemeral or parsed.storage == "memory"
    if given.get("data_dir") is None and not given["ephemeral"]:
        given["data_dir"] = default_data_dir(given.get("name", ""))
    return APIServerOptions(**given), parsed


#: Flags of ``up`` for the components that run besides the API server.
_COMPONENT_FLAGS = (
    "nodes", "node_template", "stages", "chaos", "simulated_storage", "process_pods", "process_dir", "controllers",
    "coordinated_leader_election",
)  # fmt: skip


def component_flags(parsed: argparse.Namespace) -> list[str]:
    """Return the flags for the components that run besides the API server. Raise ``OptionError``."""
    given = {name: getattr(parsed, name) for name in _COMPONENT_FLAGS if getattr(parsed, name) is not None}
    if given.keys() & {"node_template", "stages", "chaos", "process_dir"}:
        from steersman.nodes.options import NodesOptions  # noqa: PLC0415 — few starts need it

        fields = {name: value for name, value in given.items() if name in NodesOptions.__struct_fields__}
        try:
            NodesOptions(**fields).check()
        except ValueError as error:
            raise OptionError(str(error)) from error
    texts = {name: ",".join(value) if isinstance(value, tuple) else value for name, value in given.items()}
    return [f"--{name.replace('_', '-')}={value}" for name, value in texts.items()]
