"""Flags of HTTPS serving, authentication and authorization, common to kube-controller-manager and kube-scheduler.

Upstream: ``SecureServingOptions``, ``DelegatingAuthenticationOptions`` and ``DelegatingAuthorizationOptions`` of
``k8s.io/apiserver/pkg/server/options``. A flag has an effect when the options of the command have a field of its name.
"""

from __future__ import annotations

from typing import Final

from steersman.cli import values
from steersman.cli.base_flags import TLS_POLICY_FLAGS, TLS_SNI_FLAG
from steersman.cli.flag_table import Flag, FlagTable

_ONE_REQUEST: Final = "connections are HTTP/1.1"
_NO_FRONT_PROXY: Final = "front proxies do not authenticate here; use tokens or client certificates"

SERVING_FLAGS: Final[FlagTable] = {
    "secure serving": (
        Flag("bind-address", values.ip, "IP address to listen on for --secure-port"),
        Flag(
            "cert-dir", str, "Directory of the certificate, if --tls-cert-file and --tls-private-key-file are not given"
        ),
        Flag("disable-http2-serving", values.boolean, "Do not serve HTTP/2", unused=_ONE_REQUEST),
        Flag(
            "http2-max-streams-per-connection",
            values.count,
            "Maximum number of streams of an HTTP/2 connection",
            unused=_ONE_REQUEST,
        ),
        Flag(
            "permit-address-sharing",
            values.boolean,
            "Listen with SO_REUSEADDR",
            unused="it is set always",
        ),
        Flag("permit-port-sharing", values.boolean, "Listen with SO_REUSEPORT"),
        Flag("secure-port", values.port, "Port for HTTPS with authentication and authorization; 0 for none"),
        Flag("tls-cert-file", str, "File with the x509 certificate for HTTPS, followed by intermediate certificates"),
        *TLS_POLICY_FLAGS,
        Flag("tls-private-key-file", str, "File with the private key of --tls-cert-file"),
        TLS_SNI_FLAG,
    ),
    "authentication": (
        Flag("authentication-kubeconfig", str, "Kubeconfig of the cluster that reviews tokens"),
        Flag("authentication-skip-lookup", values.boolean, "Do not read authentication settings from the cluster"),
        Flag("authentication-token-webhook-cache-ttl", values.duration, "Time for which token reviews are cached"),
        Flag(
            "authentication-tolerate-lookup-failure",
            values.boolean,
            "Start even if the authentication settings cannot be read from the cluster",
        ),
        Flag("client-ca-file", str, "File with the certificate authorities whose client certificates are accepted"),
        Flag(
            "requestheader-allowed-names",
            values.names,
            "Common names that may authenticate by request headers",
            unused=_NO_FRONT_PROXY,
        ),
        Flag(
            "requestheader-client-ca-file",
            str,
            "File with the authorities of front proxies",
            unused=_NO_FRONT_PROXY,
        ),
        Flag(
            "requestheader-extra-headers-prefix",
            values.names,
            "Prefixes of request headers with extra values",
            unused=_NO_FRONT_PROXY,
        ),
        Flag(
            "requestheader-group-headers",
            values.names,
            "Request headers with groups",
            unused=_NO_FRONT_PROXY,
        ),
        Flag(
            "requestheader-uid-headers",
            values.names,
            "Request headers with UIDs",
            unused=_NO_FRONT_PROXY,
        ),
        Flag(
            "requestheader-username-headers",
            values.names,
            "Request headers with user names",
            unused=_NO_FRONT_PROXY,
        ),
    ),
    "authorization": (
        Flag("authorization-always-allow-paths", values.names, "Paths that need no authorization"),
        Flag("authorization-kubeconfig", str, "Kubeconfig of the cluster that reviews access"),
        Flag("authorization-webhook-cache-authorized-ttl", values.duration, "Time for which allowed access is cached"),
        Flag("authorization-webhook-cache-unauthorized-ttl", values.duration, "Time for which denied access is cached"),
    ),
}
