"""``--authentication-config`` and ``--oidc-*``: the configuration of JWT authenticators and of anonymous requests.

Both give an ``AuthenticationConfiguration``; a file is read again after changes.

Upstream: pkg/kubeapiserver/options/authentication.go (``ToAuthenticationConfig``, ``ApplyTo``),
pkg/kubeapiserver/authenticator/config.go (``newJWTAuthenticator``)
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery import field
from steersman.apimachinery.config_file import ConfigFileError
from steersman.apiserver.authn.authentication_configuration import (
    AnonymousAuthConfig,
    AuthenticationConfiguration,
    ClaimMappings,
    ClaimValidationRule,
    Issuer,
    JWTAuthenticatorConfig,
    PrefixedClaimOrExpression,
    decode_configuration,
)
from steersman.apiserver.authn.authentication_validation import validate_configuration
from steersman.apiserver.authn.claim_mapping import ClaimMapper
from steersman.apiserver.authn.id_token_verifier import ALGORITHMS
from steersman.apiserver.authn.jwt_metrics import JWTMetrics
from steersman.apiserver.authn.oidc import JWTAuthenticator, JWTAuthenticators
from steersman.apiserver.observability.authentication_metrics import JWTMetricsCollector
from steersman.asynckit.timeouts import Timeout
from steersman.controlplane.bootstrap.identity import server_id
from steersman.controlplane.config_reload import ConfigReload, InvalidConfigError
from steersman.controlplane.fetching import HTTPSFetcher
from steersman.controlplane.option_files import read_file
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from steersman.apiserver.authn.claim_mapping import CompiledExpressions
    from steersman.apiserver.authn.id_token_verifier import Fetch
    from steersman.apiserver.observability.metrics import Family
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions

    #: Returns documents by URL, with the authorities (PEM) of an issuer. Raises ``ssl.SSLError``.
    MakeFetch = Callable[[str], Fetch]

_FLAG: Final = "--authentication-config"
_METRIC_PREFIX: Final = "apiserver_authentication_config_controller"
_ANONYMOUS: Final = field.Path("anonymous")
_ANONYMOUS_FLAG: Final = (
    "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file"
)
#: Upstream's ``UpdateAuthenticationConfigTimeout``.
_UPDATE_SECONDS: Final = 60.0


class Configured(NamedTuple):
    """Valid configuration and the programs of its authenticators."""

    configuration: AuthenticationConfiguration
    programs: Sequence[CompiledExpressions]
    #: Contents of the file; empty for flags.
    data: bytes = b""


def read_configuration(options: APIServerOptions) -> Configured:
    """Return the configuration of the file, or else of the flags. Raises ``OptionError``."""
    path = options.authentication_config
    if path is None:
        configuration, data = oidc_configuration(options), b""
    else:
        data = read_file(_FLAG, path)
        try:
            configuration = decode_configuration(data)
        except ConfigFileError as error:
            raise OptionError(f"{_FLAG}: {path}: {error}") from error
        if configuration.anonymous is not None and options.is_set("anonymous_auth"):
            raise OptionError(f"{_FLAG}: {path}: {field.forbidden(_ANONYMOUS, _ANONYMOUS_FLAG)}")
    programs, errors = validate_configuration(configuration, options.service_account_issuer)
    if errors:
        source = f"{_FLAG}: {path}" if path is not None else "--oidc-issuer-url"
        raise OptionError(f"{source}: invalid authentication configuration: {field.aggregate(errors)}")
    return Configured(configuration, programs, data)


def oidc_configuration(options: APIServerOptions) -> AuthenticationConfiguration:
    """Return the configuration of the ``--oidc-*`` flags. Raises ``OptionError``."""
    if not options.oidc_issuer_url:
        return AuthenticationConfiguration()
    if unknown := sorted(set(options.oidc_signing_algs) - ALGORITHMS):
        raise OptionError(
            f'--oidc-signing-algs: "{unknown[0]}" is not supported, expected one of {", ".join(sorted(ALGORITHMS))}'
        )
    prefix = options.oidc_username_prefix
    if not prefix and options.oidc_username_claim != "email":
        prefix = f"{options.oidc_issuer_url}#"
    groups = PrefixedClaimOrExpression()
    if options.oidc_groups_claim:
        groups = PrefixedClaimOrExpression(claim=options.oidc_groups_claim, prefix=options.oidc_groups_prefix)
    authenticator = JWTAuthenticatorConfig(
        issuer=Issuer(
            url=options.oidc_issuer_url,
            audiences=(options.oidc_client_id,),
            certificate_authority=_authorities(options.oidc_ca_file),
        ),
        claim_validation_rules=tuple(
            ClaimValidationRule(claim=claim, required_value=value)
            for claim, value in options.oidc_required_claim.items()
        ),
        claim_mappings=ClaimMappings(
            username=PrefixedClaimOrExpression(
                claim=options.oidc_username_claim, prefix="" if prefix == "-" else prefix
            ),
            groups=groups,
        ),
    )
    return AuthenticationConfiguration(jwt=(authenticator,))


def _authorities(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        text = path.read_text(encoding="ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise OptionError(f"--oidc-ca-file: {path} holds no PEM certificates: {error}") from error
    return text


class ConfiguredAuthentication:
    """JWT authenticators and anonymous requests of one API server, and reloads of the file."""

    def __init__(
        self,
        options: APIServerOptions,
        *,
        audiences: Sequence[str],
        clock: Clock,
        make_fetch: MakeFetch | None = None,
    ) -> None:
        """Read the configuration. Raises ``OptionError``."""
        self._issuers: Final = options.service_account_issuer
        # All algorithms are accepted with a file, as upstream.
        self._signing_algs: Final = (
            ALGORITHMS if options.authentication_config else frozenset(options.oidc_signing_algs)
        )
        self._clock: Final = clock
        self._make_fetch: Final = make_fetch or _https
        self.metrics: Final = JWTMetrics()
        self._collector: Final = JWTMetricsCollector(self.metrics, server_id=server_id(socket.gethostname()))
        configured = read_configuration(options)
        #: Anonymous requests of the file, which do not change with a reload; None: by ``--anonymous-auth``.
        self.anonymous: Final[AnonymousAuthConfig | None] = configured.configuration.anonymous
        self.tokens: Final = JWTAuthenticators(self._authenticators(configured), audiences=audiences)
        #: None without a file.
        self.reload: Final = (
            None
            if options.authentication_config is None
            else ConfigReload(
                options.authentication_config,
                configured.data,
                self._apply,
                metric_prefix=_METRIC_PREFIX,
                clock=clock,
            )
        )

    def _authenticators(self, configured: Configured) -> list[JWTAuthenticator]:
        return [
            JWTAuthenticator(
                config,
                ClaimMapper(config, programs),
                self._make_fetch(config.issuer.certificate_authority),
                signing_algs=self._signing_algs,
                clock=self._clock,
                metrics=self.metrics,
            )
            for config, programs in zip(configured.configuration.jwt, configured.programs, strict=True)
        ]

    async def _apply(self, data: bytes) -> None:
        """Use the file's new contents once all providers have answered. Raises ``InvalidConfigError``, ``OSError``."""
        configured = await asyncio.to_thread(self._read, data)
        authenticators = self._authenticators(configured)
        async with Timeout(_UPDATE_SECONDS, clock=self._clock):
            failures = await asyncio.gather(
                *(authenticator.initialize() for authenticator in authenticators), return_exceptions=True
            )
        for failure in failures:
            if failure is not None:
                raise failure
        removed = self.tokens.issuers - {authenticator.issuer for authenticator in authenticators}
        self.tokens.replace(authenticators)
        for issuer in removed:
            self.metrics.forget(issuer)

    async def collect(self) -> Iterable[Family]:
        """Return the metrics of JWT authenticators and of reloads."""
        reloads = [] if self.reload is None else self.reload.metrics.families()
        return [*await self._collector.collect(), *reloads]

    def _read(self, data: bytes) -> Configured:
        try:
            configuration = decode_configuration(data)
        except ConfigFileError as error:
            raise InvalidConfigError(str(error)) from error
        programs, errors = validate_configuration(configuration, self._issuers)
        if configuration.anonymous != self.anonymous:
            errors.append(field.forbidden(_ANONYMOUS, "changed from initial configuration file"))
        if errors:
            raise InvalidConfigError(field.aggregate(errors))
        return Configured(configuration, programs, data)


def _https(authorities: str) -> Fetch:
    return HTTPSFetcher(authorities).fetch
