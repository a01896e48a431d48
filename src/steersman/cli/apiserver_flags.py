"""Flags of kube-apiserver 1.36, in the groups of its ``--help``; those of the audit log are in ``audit_flags``.

Upstream: ``cmd/kube-apiserver/app/options``, ``pkg/kubeapiserver/options``, ``k8s.io/apiserver/pkg/server/options``.
"""

from __future__ import annotations

from typing import Final

from steersman.cli import values
from steersman.cli.audit_flags import AUDIT_FLAGS
from steersman.cli.base_flags import DEBUGGING_FLAGS, FEATURE_FLAGS, LOGS_FLAGS, METRICS_FLAGS
from steersman.cli.flag_table import Flag, FlagTable

_SCRAPED: Final = "objects are counted and the size is read when metrics are scraped"
_EMBEDDED: Final = "objects are kept in the embedded store of --data-dir or --storage, not in etcd"
_HTTP1: Final = "connections are HTTP/1.1"
_MEMORY: Final = "GET, LIST and WATCH are served from memory always"
_ROUTING: Final = "requests for aggregated API servers go to endpoint IPs always"
_NO_EMULATION: Final = "all APIs of Kubernetes 1.36 are served"
_NO_PEERS: Final = "requests are not passed on to other API servers"
_SHUTDOWN: Final = "a stop ends watches at once and waits five seconds for other requests"

_GENERIC: Final = (
    Flag(
        "advertise-address",
        values.ip,
        "IP address that members of the cluster use to reach the API server (default the address it listens on)",
    ),
    Flag(
        "cors-allowed-origins",
        values.names,
        "Origins that CORS allows, as regular expressions",
        unused="no CORS headers are sent",
    ),
    Flag("debug-socket-path", str, "Unix socket for profiles", unused="there is no Go runtime to profile"),
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
        unused="objects are deleted one after the other, as with one worker",
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
    Flag("external-hostname", str, "Host name in generated URLs", unused="URLs name --advertise-address"),
    *FEATURE_FLAGS,
    Flag("goaway-chance", values.fraction, "Fraction of requests that close their HTTP/2 connection", unused=_HTTP1),
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
    Flag("shutdown-send-retry-after", values.boolean, "Answer 429 to new requests during a stop", unused=_SHUTDOWN),
    Flag(
        "shutdown-watch-termination-grace-period",
        values.duration,
        "Time that watches have to end at a stop",
        unused=_SHUTDOWN,
    ),
    Flag(
        "storage-initialization-timeout",
        values.duration,
        "Maximum time to wait at the start for a store that is slow",
    ),
    Flag(
        "strict-transport-security-directives",
        values.names,
        "Directives of the header Strict-Transport-Security",
        unused="the header is not sent",
    ),
)
_ETCD: Final = (
    Flag(
        "encryption-provider-config",
        values.path,
        "File with providers for encryption at rest (EncryptionConfiguration)",
    ),
    Flag(
        "encryption-provider-config-automatic-reload",
        values.boolean,
        "Reload --encryption-provider-config when it changes",
    ),
    Flag("etcd-cafile", values.path, "File with the certificate authority of etcd"),
    Flag("etcd-certfile", values.path, "File with the client certificate for etcd"),
    Flag(
        "etcd-compaction-interval",
        values.duration,
        "Time between compactions of etcd by the API servers in turn; 0 for none",
    ),
    Flag("etcd-count-metric-poll-period", values.duration, "Period of counting objects for metrics", unused=_SCRAPED),
    Flag(
        "etcd-db-metric-poll-interval", values.duration, "Period of reading the size of the database", unused=_SCRAPED
    ),
    Flag("etcd-healthcheck-timeout", values.duration, "Timeout of health checks of etcd"),
    Flag("etcd-keyfile", values.path, "File with the key of --etcd-certfile"),
    Flag("etcd-prefix", str, "Prefix of all keys in etcd"),
    Flag("etcd-readycheck-timeout", values.duration, "Timeout of readiness checks of etcd"),
    Flag(
        "etcd-servers",
        values.names,
        "URLs of etcd members, which keep the objects; without effect with --storage or --ephemeral",
    ),
    Flag(
        "etcd-servers-overrides",
        values.names,
        "Clusters of single resources: group/resource#URL;URL, …, with an empty group for core resources",
    ),
    Flag("event-ttl", values.duration, "Time after which Events are deleted"),
    Flag(
        "lease-reuse-duration-seconds",
        values.count,
        "Time in which an etcd lease is shared by objects",
        unused="leases are shared for a twentieth of --event-ttl, at most a minute",
    ),
    Flag(
        "storage-backend", str, "Storage of the objects: etcd3", unused="--etcd-servers and --storage choose the store"
    ),
    Flag(
        "storage-media-type",
        str,
        "Media type of stored objects: application/json, application/vnd.kubernetes.protobuf; custom resources are always JSON",
    ),
    Flag("watch-cache", values.boolean, "Serve from a cache", unused=_MEMORY),
    Flag("watch-cache-sizes", values.names, "Sizes of caches by resource", unused=_MEMORY),
)
_SECURE_SERVING: Final = (
    Flag("bind-address", values.ip, "IP address to listen on"),
    Flag("cert-dir", str, "Directory of generated certificates", unused="they are generated in --data-dir"),
    Flag("disable-http2-serving", values.boolean, "Do not serve HTTP/2", unused=_HTTP1),
    Flag(
        "http2-max-streams-per-connection",
        values.count,
        "Maximum number of streams of an HTTP/2 connection",
        unused=_HTTP1,
    ),
    Flag("permit-address-sharing", values.boolean, "Listen with SO_REUSEADDR", unused="SO_REUSEADDR is always set"),
    Flag("permit-port-sharing", values.boolean, "Listen with SO_REUSEPORT"),
    Flag("secure-port", values.port, "Port to listen on; 0 for any free port"),
    Flag(
        "tls-cert-file",
        values.path,
        "File with the x509 certificate for HTTPS, followed by intermediate certificates (default a generated one)",
    ),
    Flag(
        "tls-cipher-suites",
        values.names,
        "Cipher suites for TLS 1.2 and older",
        unused="the cipher suites are OpenSSL's defaults for TLS 1.2 and newer",
    ),
    Flag(
        "tls-curve-preferences",
        values.integers,
        "Numeric IDs of the curves for the key exchange",
        unused="the curves are OpenSSL's defaults",
    ),
    Flag(
        "tls-min-version",
        values.tls_version,
        "Minimum TLS version: VersionTLS12 (the default) or VersionTLS13; older ones are raised to VersionTLS12",
    ),
    Flag("tls-private-key-file", values.path, "File with the private key of --tls-cert-file"),
    Flag(
        "tls-sni-cert-key",
        values.certificate_pairs,
        "Certificate and key for some host names",
        unused="--tls-cert-file is the only certificate",
    ),
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
_AUTHENTICATION: Final = (
    Flag("anonymous-auth", values.boolean, "Allow requests without credentials, as user system:anonymous"),
    Flag("api-audiences", values.names, "Audiences that tokens for this API server name (default the issuers)"),
    Flag(
        "authentication-config",
        str,
        "File with an AuthenticationConfiguration",
        refused="structured authentication is not supported, use the --oidc flags",
    ),
    Flag(
        "authentication-token-webhook-cache-ttl",
        values.duration,
        "Time for which token reviews are cached",
        unused="token webhooks are not supported",
    ),
    Flag(
        "authentication-token-webhook-config-file",
        str,
        "Kubeconfig of a token webhook",
        refused="token webhooks are not supported",
    ),
    Flag(
        "authentication-token-webhook-version",
        str,
        "API version of token reviews",
        unused="token webhooks are not supported",
    ),
    Flag(
        "client-ca-file",
        values.path,
        "File with further certificate authorities whose client certificates are accepted",
    ),
    Flag(
        "enable-bootstrap-token-auth",
        values.boolean,
        "Accept bootstrap tokens (Secrets of type bootstrap.kubernetes.io/token in kube-system)",
    ),
    Flag("oidc-ca-file", values.path, "File with the certificate authority of the issuer (default the system's)"),
    Flag("oidc-client-id", str, "Client ID that ID tokens must be issued for"),
    Flag("oidc-groups-claim", str, "Claim used as the groups of the user"),
    Flag("oidc-groups-prefix", str, "Prefix of groups"),
    Flag("oidc-issuer-url", str, "URL of the OpenID issuer; only https is accepted"),
    Flag("oidc-required-claim", values.pairs, "name=value pairs that ID tokens must contain"),
    Flag("oidc-signing-algs", values.names, "Accepted signing algorithms of ID tokens"),
    Flag("oidc-username-claim", str, "Claim used as the user name"),
    Flag("oidc-username-prefix", str, "Prefix of user names (default the issuer URL and #); - for no prefix"),
    Flag(
        "requestheader-allowed-names",
        values.names,
        "Common names of client certificates of front proxies; empty for any",
    ),
    Flag(
        "requestheader-client-ca-file",
        values.path,
        "File with the authorities of client certificates of front proxies (default a generated one)",
    ),
    Flag(
        "requestheader-extra-headers-prefix",
        values.names,
        "Prefixes of request headers with extra values of a front proxy",
    ),
    Flag("requestheader-group-headers", values.names, "Request headers with the groups of a front proxy's user"),
    Flag("requestheader-uid-headers", values.names, "Request headers with the UID of a front proxy's user"),
    Flag("requestheader-username-headers", values.names, "Request headers with the name of a front proxy's user"),
    Flag(
        "service-account-extend-token-expiration",
        values.boolean,
        "Extend the expiration of injected service account tokens, for clients that do not reload them",
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
        "service-account-key-file",
        values.paths,
        "Files with public or private keys that verify service account tokens (default the signing key)",
    ),
    Flag(
        "service-account-lookup",
        values.boolean,
        "Reject tokens whose account or Secret is gone",
        unused="they are always rejected",
    ),
    Flag(
        "service-account-max-token-expiration",
        values.duration,
        "Maximum validity of a service account token; 0 for no limit",
        "service_account_max_token_expiration_seconds",
    ),
    Flag(
        "service-account-signing-endpoint",
        str,
        "Socket of an external signer of tokens",
        refused="external signers are not supported, use --service-account-signing-key-file",
    ),
    Flag(
        "service-account-signing-key-file",
        values.path,
        "File with the private key that signs service account tokens (default a generated one)",
    ),
    Flag("token-auth-file", values.path, 'CSV file with static bearer tokens: token,user,uid,"group1,group2"'),
)
_AUTHORIZATION: Final = (
    Flag(
        "authorization-config",
        str,
        "File with an AuthorizationConfiguration",
        refused="structured authorization is not supported, use --authorization-mode",
    ),
    Flag(
        "authorization-mode",
        values.names,
        "Ordered list of authorization plugins: AlwaysAllow, AlwaysDeny, Node, RBAC",
    ),
    Flag(
        "authorization-policy-file",
        str,
        "File with policies of the mode ABAC",
        refused="the authorization mode ABAC is not supported",
    ),
    Flag(
        "authorization-webhook-cache-authorized-ttl",
        values.duration,
        "Time for which allowed access is cached",
        unused="the authorization mode Webhook is not supported",
    ),
    Flag(
        "authorization-webhook-cache-unauthorized-ttl",
        values.duration,
        "Time for which denied access is cached",
        unused="the authorization mode Webhook is not supported",
    ),
    Flag(
        "authorization-webhook-config-file",
        str,
        "Kubeconfig of an authorization webhook",
        refused="the authorization mode Webhook is not supported",
    ),
    Flag(
        "authorization-webhook-version",
        str,
        "API version of access reviews",
        unused="the authorization mode Webhook is not supported",
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
    "etcd": _ETCD,
    "secure serving": _SECURE_SERVING,
    "auditing": AUDIT_FLAGS,
    "features": _FEATURES,
    "authentication": _AUTHENTICATION,
    "authorization": _AUTHORIZATION,
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
