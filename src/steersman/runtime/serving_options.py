"""Options of HTTPS serving, authentication and authorization of components; named as upstream's flags.

Upstream: ``SecureServingOptions``, ``DelegatingAuthenticationOptions`` and ``DelegatingAuthorizationOptions`` of
``k8s.io/apiserver/pkg/server/options``.
"""

from __future__ import annotations

import msgspec

#: Upstream's default of ``--authorization-always-allow-paths``.
ALWAYS_ALLOWED_PATHS = ("/healthz", "/readyz", "/livez")


class ServingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a component's HTTPS server and its authentication and authorization."""

    bind_address: str = "127.0.0.1"
    #: 0: no HTTPS.
    secure_port: int = 0
    permit_port_sharing: bool = False
    #: Directory of a generated certificate; empty: in memory.
    cert_dir: str = ""
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    #: ``VersionTLS12`` or ``VersionTLS13``; empty for TLS 1.2.
    tls_min_version: str = ""
    #: Cipher suites for TLS 1.2 by their names, and curves by their numbers; empty for the defaults of OpenSSL.
    tls_cipher_suites: tuple[str, ...] = ()
    tls_curve_preferences: tuple[int, ...] = ()
    #: Certificates for some host names: ``cert,key`` or ``cert,key:name,name``.
    tls_sni_cert_key: tuple[str, ...] = ()

    #: Certificate authorities of client certificates; empty: those of the cluster, see ``authentication_skip_lookup``.
    client_ca_file: str = ""
    #: Kubeconfig for TokenReviews; empty: the pod's service account, or no tokens.
    authentication_kubeconfig: str = ""
    #: True: do not read ``client-ca-file`` from the ConfigMap ``extension-apiserver-authentication``.
    authentication_skip_lookup: bool = False
    authentication_tolerate_lookup_failure: bool = False
    authentication_token_webhook_cache_ttl_seconds: float = 10.0

    #: Kubeconfig for SubjectAccessReviews; empty: the pod's service account, or only the paths below are allowed.
    authorization_kubeconfig: str = ""
    #: A ``*`` at the end matches any suffix.
    authorization_always_allow_paths: tuple[str, ...] = ALWAYS_ALLOWED_PATHS
    authorization_webhook_cache_authorized_ttl_seconds: float = 10.0
    authorization_webhook_cache_unauthorized_ttl_seconds: float = 10.0

    #: Metrics that are not served, and allowed values by ``metric,label``, in a map or a file.
    disabled_metrics: tuple[str, ...] = ()
    allow_metric_labels: dict[str, str] = {}
    allow_metric_labels_manifest: str = ""
    #: Serve ``/debug/pprof`` and ``/debug/flags``.
    profiling: bool = True


class ControllerManagerServing(ServingOptions, frozen=True, kw_only=True):
    """Options with the defaults of kube-controller-manager."""

    secure_port: int = 10257


class SchedulerServing(ServingOptions, frozen=True, kw_only=True):
    """Options with the defaults of kube-scheduler."""

    secure_port: int = 10259
    authentication_tolerate_lookup_failure: bool = True
