"""Flags of the API server, named as kube-apiserver's where it has them, to ``APIServerOptions``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.cli import logs, values
from steersman.cli.selection import plane_name
from steersman.controlplane.options import APIServerOptions, OptionError, default_data_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DEFAULTS = APIServerOptions()


class Flag(msgspec.Struct, frozen=True):
    """One flag; its value goes into the option of the same name unless ``option`` says another."""

    name: str
    type: Callable[[str], Any]
    help: str
    option: str = ""

    @property
    def target(self) -> str:
        """The option's name."""
        return self.option or self.name.replace("-", "_")


def _listed(text: str) -> Path:
    return Path(text).expanduser()


def _all_listed(text: str) -> tuple[Path, ...]:
    return tuple(map(_listed, values.names(text)))


#: Groups of flags, in the order of ``--help``.
FLAGS: dict[str, tuple[Flag, ...]] = {
    "storage": (Flag("data-dir", _listed, "where everything is kept; default: the user's state directory"),),
    "serving": (
        Flag("bind-address", str, "address to listen on"),
        Flag("secure-port", values.port, "port to listen on, 0 for any free one"),
        Flag("advertise-address", str, "address told to clients; default: the one it listens on"),
        Flag("tls-cert-file", _listed, "certificate to serve with, instead of a generated one"),
        Flag("tls-private-key-file", _listed, "key of that certificate"),
        Flag("request-timeout", values.duration, "how long a request may take", "request_timeout_seconds"),
        Flag("min-request-timeout", values.count, "seconds after which a watch may end", "min_request_timeout_seconds"),
        Flag("max-requests-inflight", values.count, "reading requests at a time, 0 for no limit"),
        Flag("max-mutating-requests-inflight", values.count, "writing requests at a time, 0 for no limit"),
        Flag("enable-priority-and-fairness", values.boolean, "whether both limits are divided by priority and user"),
    ),
    "access": (
        Flag("client-ca-file", _listed, "CA whose client certificates name users, beside our own"),
        Flag("token-auth-file", _listed, 'CSV file of tokens: token,user,uid,"group1,group2"'),
        Flag("anonymous-auth", values.boolean, "whether requests without credentials are system:anonymous"),
        Flag("enable-bootstrap-token-auth", values.boolean, "whether nodes may join with tokens in kube-system"),
        Flag("authorization-mode", values.names, "who decides, in order: Node, RBAC, AlwaysAllow, AlwaysDeny"),
        Flag("service-account-issuer", values.names, "issuers of service account tokens; the first one signs"),
        Flag("service-account-jwks-uri", str, "where clients find the keys; default: at this server"),
        Flag(
            "service-account-max-token-expiration",
            values.duration,
            "longest life of a token, 0 for any",
            "service_account_max_token_expiration_seconds",
        ),
        Flag("service-account-extend-token-expiration", values.boolean, "whether tokens of pods live longer than told"),
        Flag("api-audiences", values.names, "audiences that tokens for this server name; default: the issuers"),
        Flag("service-account-signing-key-file", _listed, "private key that signs them, instead of a generated one"),
        Flag(
            "service-account-key-file",
            _all_listed,
            "keys whose tokens are accepted, comma-separated; default: that one",
        ),
    ),
    "OpenID Connect": (
        Flag("oidc-issuer-url", str, "provider whose tokens are believed; begins with https://"),
        Flag("oidc-client-id", str, "whom the provider's tokens are for"),
        Flag("oidc-ca-file", _listed, "CA of the provider; default: those of the machine"),
        Flag("oidc-username-claim", str, "claim that names the user"),
        Flag("oidc-username-prefix", str, "goes before user names; default: the issuer, - for nothing"),
        Flag("oidc-groups-claim", str, "claim that names the groups"),
        Flag("oidc-groups-prefix", str, "goes before groups"),
        Flag("oidc-required-claim", values.pairs, "name=value that a token must say, comma-separated"),
        Flag("oidc-signing-algs", values.names, "algorithms that tokens may be signed with"),
    ),
    "auditing": (
        Flag("audit-policy-file", _listed, "which requests are recorded, and how much of them"),
        Flag("audit-log-path", str, "file that they are recorded in, - for standard output"),
        Flag("audit-log-format", str, "json or legacy"),
        Flag("audit-log-version", str, "version of the events"),
        Flag("audit-log-mode", str, "blocking, blocking-strict or batch"),
        Flag("audit-log-maxsize", values.count, "megabytes after which a new file is begun, 0 for never"),
        Flag("audit-log-maxage", values.count, "days for which full files are kept, 0 for ever"),
        Flag("audit-log-maxbackup", values.count, "full files that are kept, 0 for all"),
        Flag("audit-log-compress", values.boolean, "whether full files are compressed"),
        Flag("audit-log-batch-buffer-size", values.count, "events that wait to be written at most"),
        Flag("audit-log-batch-max-size", values.count, "events of a batch, in mode batch"),
        Flag(
            "audit-log-batch-max-wait",
            values.duration,
            "how long a batch waits to become full",
            "audit_log_batch_max_wait_seconds",
        ),
        Flag("audit-log-batch-throttle-enable", values.boolean, "whether batches come at a limited rate"),
        Flag("audit-log-batch-throttle-qps", values.number, "batches a second"),
        Flag("audit-log-batch-throttle-burst", values.count, "batches that may come at once"),
        Flag("audit-log-truncate-enabled", values.boolean, "whether large events lose their objects"),
        Flag("audit-log-truncate-max-event-size", values.count, "bytes beyond which an event is large"),
        Flag("audit-log-truncate-max-batch-size", values.count, "bytes of a batch, where large events lose objects"),
        Flag("audit-webhook-config-file", _listed, "kubeconfig of a server that events are sent to"),
        Flag("audit-webhook-version", str, "version of the events sent"),
        Flag("audit-webhook-mode", str, "blocking, blocking-strict or batch"),
        Flag(
            "audit-webhook-initial-backoff",
            values.duration,
            "pause before events are sent again",
            "audit_webhook_initial_backoff_seconds",
        ),
        Flag("audit-webhook-batch-buffer-size", values.count, "events that wait to be sent at most"),
        Flag("audit-webhook-batch-max-size", values.count, "events of a batch, in mode batch"),
        Flag(
            "audit-webhook-batch-max-wait",
            values.duration,
            "how long a batch waits to become full",
            "audit_webhook_batch_max_wait_seconds",
        ),
        Flag("audit-webhook-batch-throttle-enable", values.boolean, "whether batches go at a limited rate"),
        Flag("audit-webhook-batch-throttle-qps", values.number, "batches a second"),
        Flag("audit-webhook-batch-throttle-burst", values.count, "batches that may go at once"),
        Flag("audit-webhook-truncate-enabled", values.boolean, "whether large events lose their objects"),
        Flag("audit-webhook-truncate-max-event-size", values.count, "bytes beyond which an event is large"),
        Flag(
            "audit-webhook-truncate-max-batch-size", values.count, "bytes of a batch, where large events lose objects"
        ),
    ),
    "API": (
        Flag("service-cluster-ip-range", str, "CIDR of cluster IPs"),
        Flag("service-node-port-range", values.port_range, "ports of NodePort services"),
        Flag("kubernetes-service-node-port", values.port, "node port of the Service kubernetes, 0 for none"),
        Flag("endpoint-reconciler-type", str, "who publishes API servers' addresses: lease, master-count, none"),
        Flag("apiserver-count", values.count, "number of API servers, for master-count"),
        Flag("system-namespaces", values.names, "namespaces that there always are, comma-separated"),
        Flag("allow-privileged", values.boolean, "whether privileged containers may be asked for"),
        Flag("enable-admission-plugins", values.names, "admission plugins beside those on by default"),
        Flag("disable-admission-plugins", values.names, "admission plugins to leave out"),
        Flag("admission-control-config-file", _listed, "what admission plugins are told"),
        Flag("feature-gates", values.switches, "name=true|false, comma-separated"),
        Flag("runtime-config", values.switches, "group/version=true|false, comma-separated"),
    ),
}


def _etcd_servers(text: str) -> str:
    del text
    raise argparse.ArgumentTypeError("etcd is not supported yet, use --storage sqlite (the default) or memory")


def _add(group: argparse._ArgumentGroup, flag: Flag) -> None:
    text = flag.help
    default = getattr(_DEFAULTS, flag.target)
    if isinstance(default, str | int | float) and default != "":
        text = f"{text} (default {str(default).lower() if isinstance(default, bool) else default})"
    # A boolean flag may stand alone, as in Go.
    alone: dict[str, Any] = {"nargs": "?", "const": True} if flag.type is values.boolean else {}
    group.add_argument(
        f"--{flag.name}", dest=flag.target, type=flag.type, help=text, default=argparse.SUPPRESS,
        metavar=flag.name.rsplit("-", 1)[-1].upper(), **alone,
    )  # fmt: skip


def parser(command: str, description: str) -> argparse.ArgumentParser:
    """All flags of a command."""
    made = argparse.ArgumentParser(f"steersman {command}", description=description, allow_abbrev=False)
    for title, flags in FLAGS.items():
        group = made.add_argument_group(title)
        for flag in flags:
            _add(group, flag)
        if title == "storage":
            group.add_argument(
                "--storage", choices=("sqlite", "memory"), help="where objects are kept (default sqlite)"
            )
            group.add_argument("--ephemeral", action="store_true", help="short for --storage memory")
            group.add_argument("--etcd-servers", type=_etcd_servers, help=argparse.SUPPRESS)
        if title == "serving":
            group.add_argument("--port", dest="secure_port", type=values.port, default=argparse.SUPPRESS,
                               help="the same as --secure-port", metavar="PORT")  # fmt: skip
    if command == "up":
        beside = made.add_argument_group("beside the API server")
        beside.add_argument("--nodes", type=values.count, metavar="NUMBER", help="how many simulated nodes (default 1)")
        beside.add_argument("--node-template", type=_listed, metavar="FILE", help="YAML that says what the nodes have")
        beside.add_argument(
            "--stages", metavar="STAGES", help="how pods and nodes live: default, never-end, or files of KWOK stages"
        )
        beside.add_argument("--process-pods", type=values.boolean, nargs="?", const=True, metavar="PODS",
                            help="run pods that ask for it as local processes, as you")  # fmt: skip
        beside.add_argument("--process-dir", type=_listed, metavar="FOLDER", help="where files of such pods lie")
        beside.add_argument(
            "--simulated-storage", type=values.boolean, nargs="?", const=True, metavar="STORAGE",
            help="whether volumes are made for claims, by a default StorageClass (default true)",
        )  # fmt: skip
        beside.add_argument("--controllers", metavar="NAMES", help="which controllers to run (default *)")
        beside.add_argument(
            "--coordinated-elections", dest="coordinated_leader_election", type=values.boolean, nargs="?", const=True,
            metavar="ELECTIONS", help="whether controllers and scheduler are candidates of coordinated leader election",
        )  # fmt: skip
    process = made.add_argument_group("process")
    process.add_argument(
        "--name",
        type=plane_name,
        default=argparse.SUPPRESS,
        metavar="NAME",
        help="name of this control plane, to run several: context steersman-NAME",
    )
    process.add_argument(
        "--kubeconfig", type=_listed, help="where the admin's kubeconfig goes; default: the data directory"
    )
    process.add_argument("--merge", action="store_true", help="put the context into your own kubeconfig, too")
    process.add_argument(
        "--die-with-parent", action="store_true", help="stop when the process that started this one ends"
    )
    process.add_argument("--parent-pipe", type=values.count, help=argparse.SUPPRESS)
    process.add_argument("--logging-format", choices=logs.FORMATS, default="text", help="format of log lines")
    process.add_argument("--v", "-v", type=values.count, default=0, metavar="LEVEL", help="how much is logged: 0 to 4")
    return made


def parse(command: str, description: str, arguments: Sequence[str]) -> tuple[APIServerOptions, argparse.Namespace]:
    """The options, and what concerns the process. Exits with a message for flags that are unknown or make no sense."""
    made = parser(command, description)
    parsed = made.parse_args(arguments)
    if parsed.ephemeral and parsed.storage == "sqlite":
        made.error("--ephemeral is --storage memory, not --storage sqlite")
    given = {name: value for name, value in vars(parsed).items() if name in APIServerOptions.__struct_fields__}
    given["ephemeral"] = parsed.ephemeral or parsed.storage == "memory"
    if given.get("data_dir") is None and not given["ephemeral"]:
        given["data_dir"] = default_data_dir(given.get("name", ""))
    return APIServerOptions(**given), parsed


#: Flags of ``up`` that are for what runs beside the API server.
_COMPANION_FLAGS = (
    "nodes",
    "node_template",
    "stages",
    "simulated_storage",
    "process_pods",
    "controllers",
    "coordinated_leader_election",
)


def companion_flags(parsed: argparse.Namespace) -> list[str]:
    """What was said of what runs beside the API server, as flags again. Raises ``OptionError``."""
    said = {name: getattr(parsed, name) for name in _COMPANION_FLAGS if getattr(parsed, name) is not None}
    if "node_template" in said or "stages" in said:
        from steersman.nodes.options import NodesOptions  # noqa: PLC0415 — few starts need it

        nodes = NodesOptions(**{name: value for name, value in said.items() if name in NodesOptions.__struct_fields__})
        try:
            nodes.templates()
            nodes.pod_stages()
            nodes.node_stages()
        except ValueError as error:
            raise OptionError(str(error)) from error
    return [f"--{name.replace('_', '-')}={value}" for name, value in said.items()]
