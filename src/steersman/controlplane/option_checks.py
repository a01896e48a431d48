"""Validation of ``APIServerOptions`` before anything is created or started.

Upstream: ``cmd/kube-apiserver/app/options/validation.go`` and the ``Validate`` methods of ``k8s.io/apiserver/pkg/server/options``.
Contents of files are validated by the modules that read them.
"""

from __future__ import annotations

import os
import ssl
import stat
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import errno_text, quote
from steersman.controlplane.audit_options import check_audit
from steersman.controlplane.authentication.options import check_authentication
from steersman.controlplane.authorization.options import check_authorization
from steersman.controlplane.metric_options import metric_filter
from steersman.controlplane.option_files import check_key_pair, check_readable
from steersman.controlplane.options import ENDPOINT_RECONCILERS, OptionError, flag_of
from steersman.controlplane.tls_options import check_named_cert_keys, check_tls_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from steersman.controlplane.options import APIServerOptions

#: Types of addresses of a Node (upstream: ``v1.NodeAddressType``).
ADDRESS_TYPES: Final = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
#: Upstream: ``storageMediaTypes``.
_STORAGE_MEDIA_TYPES: Final = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
#: Upstream: ``service cluster IP range must be at least 8 IP addresses``.
_SERVICE_ADDRESSES_MIN: Final = 8
#: Options that name files to read.
_FILE_OPTIONS: Final = (
    "tls_cert_file", "tls_private_key_file", "client_ca_file", "token_auth_file", "service_account_signing_key_file",
    "service_account_key_file", "oidc_ca_file", "authentication_config",
    "authentication_token_webhook_config_file", "requestheader_client_ca_file", "kubelet_client_certificate",
    "kubelet_client_key", "kubelet_certificate_authority", "proxy_client_cert_file", "proxy_client_key_file",
    "admission_control_config_file", "audit_policy_file",
    "audit_webhook_config_file", "authorization_config", "authorization_policy_file", "authorization_webhook_config_file", "encryption_provider_config", "etcd_cafile", "etcd_certfile", "etcd_keyfile",
)  # fmt: skip


def check_options(options: APIServerOptions) -> list[str]:
    """Return warnings to log, e.g. about options without effect. Raises ``OptionError`` for the first invalid option."""
    _check_files(options)
    _check_addresses(options)
    _check_ports(options)
    _check_browsers(options)
    metric_filter(options)
    check_authorization(options)
    check_authentication(options)
    warnings = check_audit(options)
    _check_api(options)
    _check_storage(options)
    _check_directory(options)
    _check_etcd(options)
    warnings += check_tls_policy(options)
    if options.feature_gates:
        from steersman.apiserver.kinds.disabled_fields import GATES  # noqa: PLC0415 — few starts set gates
        from steersman.controlplane.feature_gates import check_feature_gates  # noqa: PLC0415 — as above

        warnings += check_feature_gates(options.feature_gates, GATES)
    if options.runtime_config:
        from steersman.controlplane.runtime_config import check_runtime_config  # noqa: PLC0415 — as above

        warnings += check_runtime_config(options.runtime_config)
    return warnings


def _check_storage(options: APIServerOptions) -> None:
    if options.encryption_provider_config_automatic_reload and options.encryption_provider_config is None:
        raise OptionError("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config")
    media_type = options.storage_media_type
    if media_type == "application/yaml":
        raise OptionError(
            f'--storage-media-type "{media_type}" is not supported, use {" or ".join(_STORAGE_MEDIA_TYPES[:2])}'
        )
    if media_type and media_type not in _STORAGE_MEDIA_TYPES:
        allowed = ", ".join(_STORAGE_MEDIA_TYPES)
        raise OptionError(f"--storage-media-type {quote(media_type)} invalid, allowed values: {allowed}")


def _check_service_networks(text: str) -> None:
    """Accept one CIDR, or one of each IP family."""
    networks = []
    for part in map(str.strip, text.split(",")):
        try:
            network = ip_network(part if "/" in part else "", strict=False)
        except ValueError:
            raise OptionError(f'--service-cluster-ip-range: "{part}" is not a CIDR such as 10.0.0.0/24') from None
        if ip_address(part.partition("/")[0]) != network.network_address:
            raise OptionError(f'--service-cluster-ip-range: "{part}" has host bits set, expected {network}')
        if network.num_addresses < _SERVICE_ADDRESSES_MIN:
            raise OptionError(
                f'--service-cluster-ip-range: "{part}": must be at least {_SERVICE_ADDRESSES_MIN} IP addresses'
            )
        networks.append(network)
    if len(networks) > 2:
        raise OptionError("--service-cluster-ip-range must not contain more than two entries")
    if len(networks) == 2 and networks[0].version == networks[1].version:
        raise OptionError(f'--service-cluster-ip-range: "{text}" must be of different IP families')


def _paths(options: APIServerOptions) -> Iterator[tuple[str, Path]]:
    for option in _FILE_OPTIONS:
        value = getattr(options, option)
        for path in value if isinstance(value, tuple) else (value,):
            if path is not None:
                yield flag_of(option), path


def _check_etcd(options: APIServerOptions) -> None:
    """Validate the options of etcd. Upstream: ``EtcdOptions.Validate``, ``tls.LoadX509KeyPair``."""
    if not options.etcd_servers:
        if options.etcd_servers_overrides:
            raise OptionError("--etcd-servers-overrides needs --etcd-servers")
        return
    if not options.etcd_prefix.startswith("/"):
        raise OptionError(f"--etcd-prefix: {options.etcd_prefix!r} must begin with /")
    if (options.etcd_certfile is None) != (options.etcd_keyfile is None):
        raise OptionError("--etcd-certfile and --etcd-keyfile must be given together")
    if options.etcd_compaction_interval_seconds < 0:
        raise OptionError("--etcd-compaction-interval must not be negative")


def _check_files(options: APIServerOptions) -> None:
    if (options.tls_cert_file is None) != (options.tls_private_key_file is None):
        raise OptionError("--tls-cert-file and --tls-private-key-file need each other")
    if (options.kubelet_client_certificate is None) != (options.kubelet_client_key is None):
        raise OptionError("--kubelet-client-certificate and --kubelet-client-key need each other")
    if (options.proxy_client_cert_file is None) != (options.proxy_client_key_file is None):
        raise OptionError("--proxy-client-cert-file and --proxy-client-key-file need each other")
    for flag, path in _paths(options):
        check_readable(flag, path)
    _check_certificates(options)
    if options.kubeconfig is not None and options.kubeconfig.is_dir():
        raise OptionError(f"--kubeconfig: {options.kubeconfig} is a directory, expected a file to write")
    if options.kubeconfig is not None:
        _check_parents("--kubeconfig", options.kubeconfig)


def _check_certificates(options: APIServerOptions) -> None:
    if options.tls_cert_file is not None and options.tls_private_key_file is not None:
        flags = "--tls-cert-file and --tls-private-key-file"
        check_key_pair(flags, options.tls_cert_file, options.tls_private_key_file)
    check_named_cert_keys(options)
    for flag, path in (
        ("--client-ca-file", options.client_ca_file),
        ("--oidc-ca-file", options.oidc_ca_file),
        ("--requestheader-client-ca-file", options.requestheader_client_ca_file),
        ("--kubelet-certificate-authority", options.kubelet_certificate_authority),
    ):
        if path is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
            except ssl.SSLError as error:
                raise OptionError(f"{flag}: {path} holds no PEM certificates") from error
    if options.service_account_signing_key_file is None and not options.service_account_key_file:
        return
    from steersman.apiserver.authn import keys  # noqa: PLC0415 — loads cryptography

    signing = options.service_account_signing_key_file
    try:
        if signing is not None:
            keys.read_private_key(signing.read_bytes())
    except keys.KeyFileError as error:
        raise OptionError(f"--service-account-signing-key-file: {signing} holds no PEM private key") from error
    for path in options.service_account_key_file:
        try:
            keys.read_public_keys(path.read_bytes())
        except keys.KeyFileError as error:
            raise OptionError(f"--service-account-key-file: {path}: {error}") from error


def _check_addresses(options: APIServerOptions) -> None:
    _check_service_networks(options.service_cluster_ip_range)
    for flag, text in (("--bind-address", options.bind_address), ("--advertise-address", options.advertise_address)):
        if not text and flag == "--advertise-address":
            continue
        try:
            address = ip_address(text)
        except ValueError:
            raise OptionError(f'{flag}: failed to parse IP: "{text}"') from None
        if flag == "--advertise-address" and (address.is_unspecified or address.is_multicast):
            raise OptionError(f'{flag}: "{text}" is not an address that clients can reach')


def _check_browsers(options: APIServerOptions) -> None:
    """Validate the options of headers for browsers. Upstream: ``ServerRunOptions.Validate``."""
    if options.cors_allowed_origins:
        from steersman.apiserver.filters.cors import check_origin_pattern  # noqa: PLC0415 — few servers allow any

        for pattern in options.cors_allowed_origins:
            try:
                check_origin_pattern(pattern)
            except ValueError as error:
                raise OptionError(f"--cors-allowed-origins has an invalid regular expression: {error}") from error
    for directive in options.strict_transport_security_directives:
        name, _, value = directive.partition("=")
        if directive not in ("includeSubDomains", "preload") and (
            name != "max-age" or "=" in value or name == directive
        ):
            raise OptionError(
                "--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains,"
                " preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
            )


def _check_ports(options: APIServerOptions) -> None:
    first, last = options.service_node_port_range
    if first < 1:
        raise OptionError(f"--service-node-port-range: {first}-{last}: ports must be between 1 and 65535")
    port = options.kubernetes_service_node_port
    if port and not first <= port <= last:
        raise OptionError(f"--kubernetes-service-node-port: service port range {first}-{last} doesn't contain {port}")


def _check_api(options: APIServerOptions) -> None:
    if options.endpoint_reconciler_type not in ENDPOINT_RECONCILERS:
        expected = ", ".join(ENDPOINT_RECONCILERS)
        value = options.endpoint_reconciler_type
        raise OptionError(f'--endpoint-reconciler-type: "{value}" is unknown, expected one of {expected}')
    if options.apiserver_count < 1:
        raise OptionError(
            f"--apiserver-count should be a positive number, but value '{options.apiserver_count}' provided"
        )
    if options.event_ttl_seconds < 1:
        raise OptionError("--event-ttl: must be at least 1s")
    unknown = [name for name in options.kubelet_preferred_address_types if name not in ADDRESS_TYPES]
    if unknown:
        raise OptionError(
            f'--kubelet-preferred-address-types: "{unknown[0]}" is unknown, expected some of {", ".join(ADDRESS_TYPES)}'
        )
    if options.admission_control and (options.enable_admission_plugins or options.disable_admission_plugins):
        raise OptionError(
            "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive"
        )
    if options.request_timeout_seconds <= 0:
        raise OptionError("--request-timeout: must be greater than 0")


def _check_directory(options: APIServerOptions) -> None:
    """Raise ``OptionError`` for a data directory that cannot hold the store, before anything is written to it."""
    path = options.data_dir
    if path is None:
        return
    _check_parents("--data-dir", path)
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise OptionError(f"--data-dir: {path}: {errno_text(error)}") from error
    if not stat.S_ISDIR(status.st_mode):
        raise OptionError(f"--data-dir: {path} is a file, expected a directory")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        owner = "" if status.st_uid == os.geteuid() else f" (it belongs to user {status.st_uid})"
        raise OptionError(f"--data-dir: {path} is not writable{owner}")


def _check_parents(flag: str, path: Path) -> None:
    """Raise ``OptionError`` unless the nearest parent that exists is a directory in which ``path`` can be created."""
    parent = next(ancestor for ancestor in path.absolute().parents if os.path.lexists(ancestor))
    if not parent.is_dir():
        raise OptionError(f"{flag}: cannot create {path}: {parent} is not a directory")
    if not path.exists() and not os.access(parent, os.W_OK | os.X_OK):
        raise OptionError(f"{flag}: cannot create {path}: {parent} is not writable")
