"""Authorizers of the options, and validation of these options.

Upstream: ``BuiltInAuthorizationOptions`` of pkg/kubeapiserver/options/authorization.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.asynckit.clock import RealClock
from steersman.controlplane.authorization_configuration import (
    TYPES,
    WEBHOOK,
    AuthorizerConfiguration,
    WebhookConfiguration,
    authorizer_name,
)
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from steersman.controlplane.options import APIServerOptions

WEBHOOK_FLAG: Final = "--authorization-webhook-config-file"
_VERSIONS: Final = ("v1", "v1beta1")
#: Name and timeout of the webhook that flags configure.
_WEBHOOK_NAME: Final = "default"
_WEBHOOK_SECONDS: Final = 30.0


def authorizers_of(options: APIServerOptions) -> Sequence[AuthorizerConfiguration]:
    """Return the authorizers in order. Raises ``OptionError``."""
    return [_of_mode(mode, options) for mode in options.authorization_mode]


def _of_mode(mode: str, options: APIServerOptions) -> AuthorizerConfiguration:
    if mode != WEBHOOK:
        return AuthorizerConfiguration(mode, authorizer_name(mode))
    return AuthorizerConfiguration(
        mode,
        _WEBHOOK_NAME,
        WebhookConfiguration(
            _kubeconfig(options),
            options.authorization_webhook_version,
            options.authorization_webhook_cache_authorized_ttl_seconds,
            options.authorization_webhook_cache_unauthorized_ttl_seconds,
            _WEBHOOK_SECONDS,
        ),
    )


def _kubeconfig(options: APIServerOptions) -> Path:
    if options.authorization_webhook_config_file is None:
        raise OptionError("authorization-mode Webhook's authorization config file not passed")
    return options.authorization_webhook_config_file


def check_authorization(options: APIServerOptions) -> None:
    """Validate the options and the files that they name. Raises ``OptionError``."""
    modes = options.authorization_mode
    if not modes:
        raise OptionError("--authorization-mode: at least one authorization-mode must be passed")
    for position, mode in enumerate(modes):
        if mode not in TYPES:
            raise OptionError(f'--authorization-mode: "{mode}" is not a valid mode, expected {", ".join(TYPES)}')
        if mode in modes[:position]:
            raise OptionError(f'--authorization-mode: "{mode}" has mode specified more than once')
    if WEBHOOK in modes:
        _check_webhook(_kubeconfig(options), options)
    elif options.authorization_webhook_config_file is not None:
        raise OptionError(f"cannot specify {WEBHOOK_FLAG} without mode Webhook")


def _check_webhook(kubeconfig: Path, options: APIServerOptions) -> None:
    from steersman.controlplane.kubeconfig_webhook import (  # noqa: PLC0415 — few servers ask webhooks
        read_webhook_kubeconfig,
    )

    read_webhook_kubeconfig(WEBHOOK_FLAG, kubeconfig, clock=RealClock())
    version = options.authorization_webhook_version
    if version not in _VERSIONS:
        supported = ", ".join(map(quote, _VERSIONS))
        raise OptionError(
            f"--authorization-webhook-version: unsupported webhook authorizer version {quote(version)},"
            f" supported versions are {supported}"
        )
