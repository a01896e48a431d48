"""Validation of the options of TLS that all servers share. Upstream: ``SecureServingOptions.ApplyTo``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.asynckit.tls_policy import TLSPolicy, check_cipher_suites, check_curves
from steersman.controlplane.option_files import check_key_pair, check_readable
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from steersman.controlplane.options import APIServerOptions
    from steersman.controlplane.sni_certificates import NamedCertKey
    from steersman.runtime.serving_options import ServingOptions


def tls_policy(options: APIServerOptions | ServingOptions) -> TLSPolicy:
    """Return the TLS versions, cipher suites and curves of the options."""
    return TLSPolicy(options.tls_min_version, options.tls_cipher_suites, options.tls_curve_preferences)


def check_tls_policy(options: APIServerOptions | ServingOptions) -> list[str]:
    """Return warnings about cipher suites and curves. Raises ``OptionError`` for invalid ones."""
    try:
        check_cipher_suites(options.tls_cipher_suites)
    except ValueError as error:
        raise OptionError(f"--tls-cipher-suites: {error}") from error
    try:
        check_curves(options.tls_curve_preferences)
    except ValueError as error:
        raise OptionError(f"--tls-curve-preferences: {error}") from error
    return tls_policy(options).warnings()


def named_cert_keys(options: APIServerOptions | ServingOptions) -> list[NamedCertKey]:
    """Return the files and names of ``--tls-sni-cert-key``. Raises ``OptionError``."""
    if not options.tls_sni_cert_key:
        return []
    from steersman.controlplane.sni_certificates import parse_named_cert_key  # noqa: PLC0415 — few servers have some

    try:
        return [parse_named_cert_key(text) for text in options.tls_sni_cert_key]
    except ValueError as error:
        raise OptionError(f"--tls-sni-cert-key: {error}") from error


def check_named_cert_keys(options: APIServerOptions | ServingOptions) -> None:
    """Raise ``OptionError`` for the first pair of ``--tls-sni-cert-key`` that cannot be used."""
    for pair in named_cert_keys(options):
        for path in (pair.certificate, pair.key):
            check_readable("--tls-sni-cert-key", path)
        check_key_pair("--tls-sni-cert-key", pair.certificate, pair.key)
