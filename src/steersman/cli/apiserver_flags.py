"""Flags of kube-apiserver 1.36, in the groups of its ``--help``.

Upstream: ``cmd/kube-apiserver/app/options``, ``pkg/kubeapiserver/options``, ``k8s.io/apiserver/pkg/server/options``.
"""

from __future__ import annotations

from typing import Final

from steersman.cli import values
from steersman.cli.audit_flags import AUDIT_FLAGS
from steersman.cli.auth_flags import AUTHENTICATION_FLAGS, AUTHORIZATION_FLAGS
from steersman.cli.base_flags import (
    DEBUGGING_FLAGS,
    FEATURE_FLAGS,
    LOGS_FLAGS,
    METRICS_FLAGS,
    TLS_POLICY_FLAGS,
    TLS_SNI_FLAG,
)
from steersman.cli.etcd_flags import ETCD_FLAGS
from steersman.cli.flag_table import Flag, FlagTable

_ROUTING: Final = "requests for aggregated API servers go to endpoint IPs always"
_NO_EMULATION: Final = "all APIs of Kubernetes 1.36 are served"
_NO_PEERS: Final = "requests are not passed on to other API servers"

_GENERIC: Final = (
    Flag(
        "advertise-address",
        values.ip,
        "IP address that members of the cluster use to reach the API server (default the address it listens on)",
    ),
    Flag(
        "cors-allowed-origins",
        values.names,
        "Regular expressions of the origins that CORS allows; each must pin the host at both ends, e.g. //example\\.com(:|$)",
    ),
    Flag("debug-socket-path", values.path, "Unix socket for /debug/pprof and /debug/flags without authentication"),
    Flag(
        "default-not-ready-toleration-seconds",
        values.integer,
        "tolerationSeconds of the toleration for not-ready:NoExecute that pods get",
    ),
    Flag(
        "default-unreachable-toleration-seconds",
        values.integer,
        "tolerationSeconds of the toleration for unreachable:NoExecute that pods get",
    ),
    Flag(
        "delete-collection-workers",
        values.count,
        "Number of workers of a DELETE of a collection",
        unused="objects are admitted one after the other, as with one worker, and their commits overlap always",
    ),
    Flag(
        "emulation-forward-compatible",
        values.boolean,
        "Serve APIs that are newer than --emulated-version",
        unused=_NO_EMULATION,
    ),
    Flag(
        "enable-priority-and-fairness",
        values.boolean,
        "Enable API priority and fairness: share the limit on concurrent requests by FlowSchemas and priority levels",
    ),
    Flag(
        "endpoint-reconciler-type",
        str,
        "How API servers publish their addresses in the Endpoints kubernetes: lease, master-count or none",
    ),
    Flag(
        "external-hostname",
        str,
        "Host name in discovery documents and of the default key set of service account tokens (default --advertise-address)",
    ),
    *FEATURE_FLAGS,
    Flag(
        "goaway-chance",
        values.goaway_chance,
        "Fraction of requests after which an HTTP/2 connection takes no further ones, so that its client connects anew; 0.02 at most",
    ),
    Flag(
        "livez-grace-period",
        values.duration,
        "Maximum time of a start, in which /livez does not fail",
        unused="a start takes less than a second",
    ),
    Flag(
        "max-connection-bytes-per-sec",
        values.count,
        "Maximum bandwidth of a user's connections",
        unused="bandwidth is not limited",
    ),
    Flag(
        "max-mutating-requests-inflight",
        values.count,
        "Maximum number of concurrent mutating requests; 0 for no limit",
    ),
    Flag("max-requests-inflight", values.count, "Maximum number of concurrent non-mutating requests; 0 for no limit"),
    Flag(
        "min-request-timeout",
        values.count,
        "Minimum number of seconds that a watch stays open; the actual time is random, up to twice this",
        "min_request_timeout_seconds",
    ),
    Flag(
        "request-timeout",
        values.duration,
        "Time after which a request that is not long-running is ended",
        "request_timeout_seconds",
    ),
    Flag(
        "runtime-config-emulation-forward-compatible",
        values.boolean,
        "The same for versions of --runtime-config",
        unused=_NO_EMULATION,
    ),
    Flag(
        "send-retry-after-while-not-ready-once",
        values.boolean,
        "Answer 429 until the server was ready once",
        unused="the server listens when it is about to be ready",
    ),
    Flag(
        "shutdown-delay-duration",
        values.duration,
        "Time for which a stopping server still serves all requests, while /readyz fails",
        "shutdown_delay_seconds",
    ),
    Flag(
        "shutdown-send-retry-after",
        values.boolean,
        "Answer 429 to new requests during a stop until those in flight have ended, in place of closing the port first",
    ),
    Flag(
        "shutdown-watch-termination-grace-period",
        values.duration,
        "Time in which a stop ends watches, one after the other; 0 for all at once",
    ),
    Flag(
        "storage-initialization-timeout",
        values.duration,
        "Maximum time to wait at the start for a store that is slow",
    ),
    Flag(
        "strict-transport-security-directives",
        values.names,
        "Directives of the header Strict-Transport-Security: max-age=SECONDS, includeSubDomains, preload (default no header)",
    ),
)
_SECURE_SERVING: Final = (
    Flag("bind-address", values.ip, "IP address to listen on"),
    Flag("cert-dir", str, "Directory of generated certificates", unused="they are generated in --data-dir"),
    Flag(
        "disable-http2-serving",
        values.boolean,
        "Serve HTTP/1.1 only; with false, clients that offer HTTP/2 use it, which needs the package h2",
    ),
    Flag(
        "http2-max-streams-per-connection",
        values.count,
        "Maximum number of concurrent requests of an HTTP/2 connection; 0 for 100",
    ),
    Flag("permit-address-sharing", values.boolean, "Listen with SO_REUSEADDR", unused="SO_REUSEADDR is always set"),
    Flag("permit-port-sharing", values.boolean, "Listen with SO_REUSEPORT"),
    Flag("secure-port", values.port, "Port to listen on; 0 for any free port"),
    Flag(
        "tls-cert-file",
        values.path,
        "File with the x509 certificate for HTTPS, followed by intermediate certificates (default a generated one)",
    ),
    *TLS_POLICY_FLAGS,
    Flag("tls-private-key-file", values.path, "File with the private key of --tls-cert-file"),
    TLS_SNI_FLAG,
)
_FEATURES: Final = (
    *DEBUGGING_FLAGS,
    Flag(
        "coordinated-leadership-lease-duration",
        values.duration,
        "Duration of leases of coordinated elections",
        unused="it is 15s",
    ),
    Flag(
        "coordinated-leadership-renew-deadline",
        values.duration,
        "Renew deadline of coordinated elections",
        unused="it is 10s",
    ),
    Flag(
        "coordinated-leadership-retry-period",
        values.duration,
        "Retry period of coordinated elections",
        unused="it is 2s",
    ),
)
_ADMISSION: Final = (
    Flag(
        "admission-control",
        values.names,
        "Admission plugins to run, and no others",
        deprecated="Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.",
    ),
    Flag(
        "admission-control-config-file",
        values.path,
        "File with the configuration of admission plugins (AdmissionConfiguration)",
    ),
    Flag("disable-admission-plugins", values.names, "Admission plugins to disable"),
    Flag("enable-admission-plugins", values.names, "Admission plugins to enable in addition to the default ones"),
)
_MISC: Final = (
    Flag(
        "aggregator-reject-forwarding-redirect",
        values.boolean,
        "Answer redirects of aggregated API servers with 502",
    ),
    Flag("allow-privileged", values.boolean, "Allow privileged containers"),
    Flag("enable-aggregator-routing", values.boolean, "Send aggregated requests to endpoint IPs", unused=_ROUTING),
    Flag(
        "enable-garbage-collector",
        values.boolean,
        "Run the garbage collector",
        unused="the server prepares objects for the garbage collector always",
    ),
    Flag(
        "enable-logs-handler",
        values.boolean,
        "Serve /logs",
        deprecated="Log handler functionality is deprecated",
        unused="/logs is not served",
    ),
    Flag(
        "kubelet-certificate-authority",
        values.path,
        "File with the certificate authority of kubelets (default none: they are not verified)",
    ),
    Flag(
        "kubelet-client-certificate",
        values.path,
        "File with the client certificate for kubelets (default a generated one)",
    ),
    Flag("kubelet-client-key", values.path, "File with the key of --kubelet-client-certificate"),
    Flag(
        "kubelet-preferred-address-types",
        values.names,
        "Types of addresses of a Node, in the order in which they are tried",
    ),
    Flag(
        "kubelet-timeout",
        values.duration,
        "Timeout of requests to kubelets",
        unused="kubelets have 30 seconds to accept a connection",
    ),
    Flag(
        "kubernetes-service-node-port",
        values.port,
        "Node port of the Service kubernetes; 0 for a Service of type ClusterIP",
    ),
    Flag("peer-advertise-ip", str, "IP address for requests of other API servers", unused=_NO_PEERS),
    Flag("peer-advertise-port", str, "Port for requests of other API servers", unused=_NO_PEERS),
    Flag("peer-ca-file", str, "File with the certificate authority of other API servers", unused=_NO_PEERS),
    Flag(
        "proxy-client-cert-file",
        values.path,
        "File with the client certificate for aggregated API servers (default a generated one)",
    ),
    Flag("proxy-client-key-file", values.path, "File with the key of --proxy-client-cert-file"),
    Flag(
        "service-cluster-ip-range",
        str,
        "CIDR for cluster IPs of Services; two, one of each IP family, for dual stack",
    ),
    Flag("service-node-port-range", values.port_range, "Ports for Services of type NodePort (default 30000-32767)"),
)

API_SERVER_FLAGS: Final[FlagTable] = {
    "storage": (
        Flag(
            "data-dir",
            values.path,
            "Directory for the database and the certificates (default the user's state directory)",
        ),
    ),
    "generic": _GENERIC,
    "etcd": ETCD_FLAGS,
    "secure serving": _SECURE_SERVING,
    "auditing": AUDIT_FLAGS,
    "features": _FEATURES,
    "authentication": AUTHENTICATION_FLAGS,
    "authorization": AUTHORIZATION_FLAGS,
    "API enablement": (
        Flag(
            "runtime-config", values.runtime_config, "group/version=true|false pairs; built-in APIs are always served"
        ),
    ),
    "egress selector": (
        Flag(
            "egress-selector-config-file",
            str,
            "File with the configuration of egress proxies",
            refused="egress proxies are not supported",
        ),
    ),
    "admission": _ADMISSION,
    "metrics": METRICS_FLAGS,
    "logs": LOGS_FLAGS,
    "traces": (Flag("tracing-config-file", str, "File with the configuration of traces", unused="no traces are sent"),),
    "misc": _MISC,
    "steersman": (
        Flag("apiserver-count", values.integer, "Number of API servers, for --endpoint-reconciler-type=master-count"),
        Flag(
            "system-namespaces",
            values.names,
            "Namespaces that are created at the start and recreated when they are deleted",
        ),
    ),
}
