"""Authorizers of the options, and validation of these options.

Upstream: ``BuiltInAuthorizationOptions`` of pkg/kubeapiserver/options/authorization.go
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.controlplane.authorization.authorizers import (
    ABAC,
    REVIEW_VERSIONS,
    TYPES,
    WEBHOOK,
    AuthorizerConfiguration,
    WebhookConfiguration,
    authorizer_name,
)
from steersman.controlplane.option_files import check_kubeconfig, read_file
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from steersman.apiserver.authz.abac import PolicyList
    from steersman.controlplane.options import APIServerOptions

_log = logging.getLogger(__name__)

WEBHOOK_FLAG: Final = "--authorization-webhook-config-file"
POLICY_FLAG: Final = "--authorization-policy-file"
CONFIG_FLAG: Final = "--authorization-config"
#: Options that the configuration file replaces.
_REPLACED: Final = (
    "authorization_mode",
    "authorization_webhook_config_file",
    "authorization_webhook_version",
    "authorization_webhook_cache_authorized_ttl_seconds",
    "authorization_webhook_cache_unauthorized_ttl_seconds",
)
#: Name and timeout of the webhook that flags configure.
_WEBHOOK_NAME: Final = "default"
_WEBHOOK_SECONDS: Final = 30.0


def authorizers_of(options: APIServerOptions) -> Sequence[AuthorizerConfiguration]:
    """Return the authorizers in order. Raises ``OptionError``."""
    path = options.authorization_config
    if path is not None:
        return configured_authorizers(path, read_file(CONFIG_FLAG, path))
    return [_of_mode(mode, options) for mode in options.authorization_mode]


def configured_authorizers(
    path: Path, data: bytes, *, required_types: Collection[str] = ()
) -> list[AuthorizerConfiguration]:
    """Return the authorizers of the contents of ``--authorization-config``. Raises ``OptionError``."""
    from steersman.apimachinery.config_file import ConfigFileError  # noqa: PLC0415 — few servers have the file
    from steersman.controlplane.authorization.configuration import read_authorization_configuration  # noqa: PLC0415

    try:
        return read_authorization_configuration(data, required_types=required_types)
    except ConfigFileError as error:
        raise OptionError(f"{CONFIG_FLAG}: {path}: {error}") from error


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


def read_abac(options: APIServerOptions) -> PolicyList:
    """Return the authorizer of ``--authorization-policy-file``. Raises ``OptionError``."""
    path = options.authorization_policy_file
    if path is None:
        raise OptionError("authorization-mode ABAC's authorization policy file not passed")
    from steersman.apiserver.authz import abac  # noqa: PLC0415 — few servers have policies

    try:
        policies, unversioned = abac.read_policies(read_file(POLICY_FLAG, path), str(path))
    except abac.PolicyFileError as error:
        raise OptionError(f"{POLICY_FLAG}: {error}") from error
    if unversioned:
        _log.warning("Policy file %s contained unversioned rules.", path)
    return abac.PolicyList(policies)


def check_authorization(options: APIServerOptions) -> None:
    """Validate the options and the files that they name. Raises ``OptionError``."""
    if options.authorization_config is not None:
        _check_configuration(options)
        return
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
    if ABAC in modes:
        read_abac(options)
    elif options.authorization_policy_file is not None:
        raise OptionError(f"cannot specify {POLICY_FLAG} without mode ABAC")


def _check_configuration(options: APIServerOptions) -> None:
    if any(map(options.is_set, _REPLACED)):
        raise OptionError(
            f"{CONFIG_FLAG} can not be specified when --authorization-mode or --authorization-webhook-* flags are defined"
        )
    for authorizer in authorizers_of(options):
        if authorizer.type == ABAC:
            read_abac(options)
        if authorizer.webhook is not None:
            check_kubeconfig(CONFIG_FLAG, authorizer.webhook.kubeconfig)


def _check_webhook(kubeconfig: Path, options: APIServerOptions) -> None:
    check_kubeconfig(WEBHOOK_FLAG, kubeconfig)
    version = options.authorization_webhook_version
    if version not in REVIEW_VERSIONS:
        supported = ", ".join(map(quote, REVIEW_VERSIONS))
        raise OptionError(
            f"--authorization-webhook-version: unsupported webhook authorizer version {quote(version)},"
            f" supported versions are {supported}"
        )
