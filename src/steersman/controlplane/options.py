"""Options of an API server, set by the flags of ``cli``. Names and defaults are kube-apiserver's where it has them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

SYSTEM_NAMESPACES: Final = ("kube-system", "kube-public", "kube-node-lease", "default")
ENDPOINT_RECONCILERS: Final = ("lease", "master-count", "none")


class OptionError(ValueError):
    """Invalid options; the message names them and the reason."""


#: Beginnings of the names of options that ``--authentication-config`` and ``--authorization-config`` replace.
REPLACEABLE: Final = ("anonymous_auth", "authorization_", "oidc_")


class APIServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of one API server."""

    #: Name of the control plane (RFC 1123 label): part of the context, and of the default data directory.
    name: str = ""
    #: Directory of durable files; None with ``ephemeral`` unless the PKI is to be kept.
    data_dir: Path | None = None
    #: Store objects in memory only.
    ephemeral: bool = False

    #: URLs of etcd members; empty for the embedded store.
    etcd_servers: tuple[str, ...] = ()
    #: ``group/resource#servers``: clusters of single resources, with their servers separated by semicolons.
    etcd_servers_overrides: tuple[str, ...] = ()
    #: Prefix of all keys in etcd.
    etcd_prefix: str = "/registry"
    #: Authority of the members' certificates, and the client certificate for them.
    etcd_cafile: Path | None = None
    etcd_certfile: Path | None = None
    etcd_keyfile: Path | None = None
    #: Interval of compactions of etcd by the API servers; 0 disables compaction.
    etcd_compaction_interval_seconds: float = 300.0
    #: Timeouts of the checks ``etcd`` and ``etcd-readiness``.
    etcd_healthcheck_timeout_seconds: float = 2.0
    etcd_readycheck_timeout_seconds: float = 2.0
    #: Timeout of a start for a store with slow writes.
    storage_initialization_timeout_seconds: float = 60.0

    bind_address: str = "127.0.0.1"
    #: Port; 0 for any free port.
    secure_port: int = 6443
    #: Address that is published to clients; empty: the bind address.
    advertise_address: str = ""
    #: Host name of the server in discovery documents and of the default key set; empty: the advertised address.
    external_hostname: str = ""
    #: Regular expressions of origins whose pages in browsers may send requests.
    cors_allowed_origins: tuple[str, ...] = ()
    #: Directives of the header ``Strict-Transport-Security``; empty: no header.
    strict_transport_security_directives: tuple[str, ...] = ()
    #: Files of the user in place of generated ones.
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    #: CA of client certificates in addition to the generated one.
    client_ca_file: Path | None = None
    #: ``VersionTLS12`` or ``VersionTLS13``; anything else is ``VersionTLS12``.
    tls_min_version: str = ""
    #: Cipher suites for TLS 1.2 by their names, and curves by their numbers; empty for the defaults of OpenSSL.
    tls_cipher_suites: tuple[str, ...] = ()
    tls_curve_preferences: tuple[int, ...] = ()
    #: Certificates for some host names: ``cert,key`` or ``cert,key:name,name``.
    tls_sni_cert_key: tuple[str, ...] = ()
    #: Allow other processes to listen on the same port (``SO_REUSEPORT``).
    permit_port_sharing: bool = False
    #: Serve HTTP/1.1 only. Upstream's default is False (decision 0018).
    disable_http2_serving: bool = True
    #: Concurrent requests of a connection; 0 for the default of ``http2.limits``.
    http2_max_streams_per_connection: int = 0
    #: Fraction of requests after which an HTTP/2 connection takes no further ones.
    goaway_chance: float = 0.0
    #: Path of the admin's kubeconfig; None: in the data directory.
    kubeconfig: Path | None = None

    #: Authorities, names and headers of front proxies, trusted here and published for aggregated API servers; None: a generated
    #: CA.
    requestheader_client_ca_file: Path | None = None
    requestheader_allowed_names: tuple[str, ...] = ("front-proxy-client",)
    requestheader_username_headers: tuple[str, ...] = ("X-Remote-User",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_group_headers: tuple[str, ...] = ("X-Remote-Group",)
    requestheader_extra_headers_prefix: tuple[str, ...] = ("X-Remote-Extra-",)

    token_auth_file: Path | None = None
    anonymous_auth: bool = True
    #: File with an ``AuthenticationConfiguration``, in place of the ``oidc`` options; see ``authentication.configuration``.
    authentication_config: Path | None = None
    #: True if bootstrap tokens in Secrets of kube-system authenticate.
    enable_bootstrap_token_auth: bool = False
    authorization_mode: tuple[str, ...] = ("Node", "RBAC")
    #: File with the policies of the mode ``ABAC``.
    authorization_policy_file: Path | None = None
    #: File with an AuthorizationConfiguration, which replaces the mode and the options of its webhook.
    authorization_config: Path | None = None
    #: Kubeconfig of the mode ``Webhook``, version of its reviews, and time in the cache of answers that allow and of others.
    authorization_webhook_config_file: Path | None = None
    authorization_webhook_version: str = "v1beta1"
    authorization_webhook_cache_authorized_ttl_seconds: float = 300.0
    authorization_webhook_cache_unauthorized_ttl_seconds: float = 30.0
    #: The first signs tokens of service accounts, all are accepted.
    service_account_issuer: tuple[str, ...] = ("https://kubernetes.default.svc",)
    #: Key that signs service account tokens in place of a generated one, and keys whose tokens are accepted in place of
    #: that one.
    service_account_signing_key_file: Path | None = None
    service_account_key_file: tuple[Path, ...] = ()
    #: Socket of an external signer of service account tokens, in place of keys; see ``authentication.external_signer``.
    service_account_signing_endpoint: str = ""
    #: URL of the keys for clients; empty: at this server.
    service_account_jwks_uri: str = ""
    #: Maximum duration of tokens in seconds; 0: unlimited.
    service_account_max_token_expiration_seconds: float = 0.0
    #: Extend tokens of pods beyond their stated expiration, for clients that do not read them again.
    service_account_extend_token_expiration: bool = True
    #: Kubeconfig of a webhook that reviews tokens, the version of its reviews, and the time for which they are cached.
    authentication_token_webhook_config_file: Path | None = None
    authentication_token_webhook_version: str = "v1beta1"  # noqa: S105 — no password
    authentication_token_webhook_cache_ttl_seconds: float = 120.0
    #: Tokens of an OpenID Connect provider are accepted, too; see ``authentication.configuration``.
    oidc_issuer_url: str = ""
    oidc_client_id: str = ""
    oidc_ca_file: Path | None = None
    oidc_username_claim: str = "sub"
    oidc_username_prefix: str = ""
    oidc_groups_claim: str = ""
    oidc_groups_prefix: str = ""
    oidc_required_claim: dict[str, str] = {}
    oidc_signing_algs: tuple[str, ...] = ("RS256",)
    #: Accepted audiences of tokens; empty: the issuers.
    api_audiences: tuple[str, ...] = ()

    service_cluster_ip_range: str = "10.0.0.0/24"
    #: First and last node port.
    service_node_port_range: tuple[int, int] = (30000, 32767)
    #: Endpoint reconciler of the Service ``kubernetes``: ``lease``, ``master-count`` or ``none``.
    endpoint_reconciler_type: str = "lease"
    #: Number of API servers, for ``master-count``.
    apiserver_count: int = 1
    #: Node port of the Service ``kubernetes``, which then has type NodePort; 0 for none.
    kubernetes_service_node_port: int = 0
    #: Namespaces that are created at the start and recreated when they are deleted.
    system_namespaces: tuple[str, ...] = SYSTEM_NAMESPACES
    allow_privileged: bool = False
    #: Client certificate for kubelets; None: a generated one.
    kubelet_client_certificate: Path | None = None
    kubelet_client_key: Path | None = None
    #: Authorities of the certificates of kubelets; None disables verification.
    kubelet_certificate_authority: Path | None = None
    #: Types of a Node's addresses in order of preference.
    kubelet_preferred_address_types: tuple[str, ...] = (
        "Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP",
    )  # fmt: skip
    #: Client certificate for aggregated API servers; None: a generated one.
    proxy_client_cert_file: Path | None = None
    proxy_client_key_file: Path | None = None
    #: Reject redirects of aggregated API servers with 502.
    aggregator_reject_forwarding_redirect: bool = True
    #: File with the providers of encryption at rest, and reload after changes.
    encryption_provider_config: Path | None = None
    encryption_provider_config_automatic_reload: bool = False
    #: Media type of stored objects; empty: see ``stored_media_type``.
    storage_media_type: str = ""
    #: Time after which an Event is deleted.
    event_ttl_seconds: float = 3600.0
    #: Default toleration seconds of pods for a Node that is not ready or unreachable.
    default_not_ready_toleration_seconds: int = 300
    default_unreachable_toleration_seconds: int = 300
    #: Exact list of enabled plugins; empty: the defaults, changed by the next two.
    admission_control: tuple[str, ...] = ()
    enable_admission_plugins: tuple[str, ...] = ()
    disable_admission_plugins: tuple[str, ...] = ()
    #: File with the configuration of plugins (``AdmissionConfiguration``).
    admission_control_config_file: Path | None = None
    feature_gates: dict[str, bool] = {}
    #: ``group/version`` → served or not.
    runtime_config: dict[str, bool] = {}

    #: Audit policy and log; both are needed. ``-`` is standard output.
    audit_policy_file: Path | None = None
    audit_log_path: str = ""
    audit_log_format: str = "json"
    audit_log_version: str = "audit.k8s.io/v1"
    #: ``blocking``, ``blocking-strict`` or ``batch``; see ``audit.log``.
    audit_log_mode: str = "blocking"
    #: Maximum size of a file in megabytes, and age in days and number of rotated files; 0 for no limit.
    audit_log_maxsize: int = 100
    audit_log_maxage: int = 366
    audit_log_maxbackup: int = 100
    audit_log_compress: bool = False
    audit_log_batch_buffer_size: int = 10_000
    audit_log_batch_max_size: int = 1
    audit_log_batch_max_wait_seconds: float = 0.0
    audit_log_batch_throttle_enable: bool = False
    audit_log_batch_throttle_qps: float = 0.0
    audit_log_batch_throttle_burst: int = 0
    #: Drop the objects of events above a size in bytes.
    audit_log_truncate_enabled: bool = False
    audit_log_truncate_max_event_size: int = 102_400
    audit_log_truncate_max_batch_size: int = 10_485_760
    #: Kubeconfig of the webhook backend; the other options are those of the log.
    audit_webhook_config_file: Path | None = None
    audit_webhook_version: str = "audit.k8s.io/v1"
    audit_webhook_mode: str = "batch"
    #: First delay before an event is sent again.
    audit_webhook_initial_backoff_seconds: float = 10.0
    audit_webhook_batch_buffer_size: int = 10_000
    audit_webhook_batch_max_size: int = 400
    audit_webhook_batch_max_wait_seconds: float = 30.0
    audit_webhook_batch_throttle_enable: bool = True
    audit_webhook_batch_throttle_qps: float = 10.0
    audit_webhook_batch_throttle_burst: int = 15
    audit_webhook_truncate_enabled: bool = False
    audit_webhook_truncate_max_event_size: int = 102_400
    audit_webhook_truncate_max_batch_size: int = 10_485_760

    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    #: Divide the sum of both among priority levels; no effect without a limit.
    enable_priority_and_fairness: bool = True
    request_timeout_seconds: float = 60.0
    #: Watches last between this and twice this.
    min_request_timeout_seconds: int = 1800
    #: Time for which a stopping server still serves all requests, while ``/readyz`` fails.
    shutdown_delay_seconds: float = 0.0
    #: Answer requests with 429 during a stop, in place of closing the port before those in flight have ended.
    shutdown_send_retry_after: bool = False
    #: Time in which a stop ends watches one after the other; 0: at once.
    shutdown_watch_termination_grace_period_seconds: float = 0.0
    #: Time limit of a stop for requests that are in flight.
    drain_seconds: float = 5.0
    #: Metrics that are not served, and allowed values by ``metric,label``, in a map or a file.
    disabled_metrics: tuple[str, ...] = ()
    allow_metric_labels: dict[str, str] = {}
    allow_metric_labels_manifest: str = ""
    #: Serve ``/debug/pprof`` and ``/debug/flags``.
    profiling: bool = True
    #: Unix socket with the same pages without authentication; None: there is none.
    debug_socket_path: Path | None = None
    #: Flags and their values for ``/flagz``.
    reported_flags: dict[str, str] = {}
    #: Options whose flags were given, even with their defaults, of those that configuration files replace (``REPLACEABLE``).
    explicit_flags: tuple[str, ...] = ()

    def is_set(self, name: str) -> bool:
        """Report whether an option was given, or differs from its default. Upstream: ``pflag.FlagSet.Changed``."""
        return name in self.explicit_flags or getattr(self, name) != getattr(_DEFAULTS, name)

    @property
    def stored_media_type(self) -> str:
        """Return the media type of stored objects of built-in kinds: by default upstream's in etcd, JSON in the embedded stores."""
        default = "application/vnd.kubernetes.protobuf" if self.etcd_servers else "application/json"
        return self.storage_media_type or default


def flag_of(option: str) -> str:
    """Return the flag of a field of options."""
    return f"--{option.removesuffix('_seconds').replace('_', '-')}"


_DEFAULTS: Final = APIServerOptions()


def default_data_dir(name: str = "") -> Path:
    """Return ``$XDG_STATE_HOME/steersman``, by the XDG base directory specification. Named control planes have separate
    directories below it.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return base / "steersman" / "named" / name if name else base / "steersman"
