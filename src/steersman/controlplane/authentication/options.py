"""Validation of the options of authentication and of service account tokens.

Upstream: ``BuiltInAuthenticationOptions.Validate`` of pkg/kubeapiserver/options/authentication.go
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from steersman.apimachinery.gotext import quote
from steersman.controlplane.option_files import check_kubeconfig
from steersman.controlplane.options import OptionError, flag_of

if TYPE_CHECKING:
    from steersman.controlplane.options import APIServerOptions

WEBHOOK_FLAG: Final = "--authentication-token-webhook-config-file"
_ABSTRACT_SOCKET: Final = re.compile(r"@[a-zA-Z0-9._-]+")
#: Versions of TokenReviews of a webhook.
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_TOKEN_SECONDS_MIN, _TOKEN_SECONDS_MAX = 3600, 1 << 32


def check_authentication(options: APIServerOptions) -> None:
    """Validate the options and the files that they name. Raises ``OptionError``."""
    _check_service_accounts(options)
    _check_signing_endpoint(options)
    _check_oidc(options)
    _check_token_webhook(options)


def _check_service_accounts(options: APIServerOptions) -> None:
    if not options.service_account_issuer:
        raise OptionError("--service-account-issuer is a required flag")
    for issuer in options.service_account_issuer:
        if ":" in issuer and not _is_url(issuer):
            raise OptionError(f"--service-account-issuer: \"{issuer}\" contains a ':' but is not a valid URL")
    uri = options.service_account_jwks_uri
    if uri and not _is_url(uri, schemes=("https",)):
        raise OptionError(f'--service-account-jwks-uri: "{uri}" must be a URL that begins with https://')
    seconds = options.service_account_max_token_expiration_seconds
    if seconds and not _TOKEN_SECONDS_MIN <= seconds <= _TOKEN_SECONDS_MAX:
        raise OptionError("--service-account-max-token-expiration must be between 1 hour and 2^32 seconds")


def _check_signing_endpoint(options: APIServerOptions) -> None:
    endpoint = options.service_account_signing_endpoint
    if not endpoint:
        return
    if options.service_account_signing_key_file is not None or options.service_account_key_file:
        raise OptionError(
            "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with"
            " `--service-account-signing-endpoint` (They are mutually exclusive)"
        )
    if not (_ABSTRACT_SOCKET.fullmatch(endpoint) or os.path.exists(endpoint)):  # noqa: PTH110
        raise OptionError(
            f"invalid value {quote(endpoint)} passed for `--service-account-signing-endpoint`, should be a valid location on"
            " the filesystem or must be prefixed with @ to name UDS in abstract namespace"
        )


def _check_oidc(options: APIServerOptions) -> None:
    if options.authentication_config is not None:
        if _oidc_flags(options):
            raise OptionError("authentication-config file and oidc-* flags are mutually exclusive")
        from steersman.controlplane.authentication.configuration import read_configuration  # noqa: PLC0415 — few servers have one

        read_configuration(options)
        return
    if bool(options.oidc_issuer_url) != bool(options.oidc_client_id):
        raise OptionError("--oidc-issuer-url and --oidc-client-id must be specified together")
    if not options.oidc_issuer_url:
        if others := _oidc_flags(options):
            raise OptionError(f"{others[0]} needs --oidc-issuer-url and --oidc-client-id")
    elif not _is_url(options.oidc_issuer_url, schemes=("https",)):
        raise OptionError(f'--oidc-issuer-url: "{options.oidc_issuer_url}" must be a URL that begins with https://')


def _oidc_flags(options: APIServerOptions) -> list[str]:
    """Return the ``--oidc-*`` flags that were given, or have other values than their defaults."""
    return [flag_of(name) for name in options.__struct_fields__ if name.startswith("oidc_") and options.is_set(name)]


def _check_token_webhook(options: APIServerOptions) -> None:
    if options.authentication_token_webhook_config_file is None:
        return
    version = options.authentication_token_webhook_version
    if version not in _REVIEW_VERSIONS:
        raise OptionError(
            f'--authentication-token-webhook-version: unsupported authentication webhook version "{version}",'
            ' supported versions are "v1", "v1beta1"'
        )
    check_kubeconfig(WEBHOOK_FLAG, options.authentication_token_webhook_config_file)


def _is_url(text: str, schemes: tuple[str, ...] = ()) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) and (not schemes or (parts.scheme in schemes and bool(parts.hostname)))
