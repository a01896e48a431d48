"""Authentication of one API server, built from options. Upstream: ``Config.New`` of pkg/kubeapiserver/authenticator/config.go"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authn.bearer import BearerToken, WebSocketToken
from steersman.apiserver.authn.bootstrap_token import BootstrapTokens
from steersman.apiserver.authn.client_certificate import CertificateAuthorities, ClientCertificate
from steersman.apiserver.authn.interface import MASTERS_GROUP
from steersman.apiserver.authn.legacy_token import LegacyTokens
from steersman.apiserver.authn.request_header import RequestHeader
from steersman.apiserver.authn.service_account import ServiceAccountTokens, TokenMetrics
from steersman.apiserver.authn.static_token import StaticTokens, TokenFileError, read_token_file
from steersman.apiserver.authn.token_issuer import TokenIssuer
from steersman.apiserver.authn.union import Union
from steersman.apiserver.endpoints.bound_objects import StoredObjects
from steersman.apiserver.request import UserInfo
from steersman.controlplane.authentication.token_uses import TokenUses
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from steersman.apiserver.authn.interface import ServerAuthenticator, TokenAuthenticator
    from steersman.apiserver.generic.registry import Registry
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authentication.configuration import ConfiguredAuthentication
    from steersman.controlplane.authentication.service_account_keys import AccountKeys
    from steersman.controlplane.authentication.webhook import WebhookAuthentication
    from steersman.controlplane.options import APIServerOptions

#: User of the server's own loopback requests.
LOOPBACK_USER: Final = UserInfo("system:apiserver", (MASTERS_GROUP,))


class Authentication:
    """Front proxies, client certificates, then tokens. Raises ``OptionError``.

    Service account tokens are accepted once ``follow`` has set the source of their accounts.
    """

    def __init__(self, options: APIServerOptions, *, keys: AccountKeys, clock: Clock, loopback_token: str) -> None:
        issuers = options.service_account_issuer
        #: Audience of tokens for this server.
        self.audiences: Final = options.api_audiences or issuers
        self.issuer: Final = TokenIssuer(keys, issuer=issuers[0], audiences=self.audiences)
        #: Longest lifetime of a service account token that can be signed; 0 for no limit.
        self.life_seconds_max: Final = keys.life_seconds_max
        self._objects: Final = StoredObjects()
        #: Task that records the last use of tokens on their Secrets.
        self.token_uses: Final = TokenUses(clock=clock)
        users = {loopback_token: LOOPBACK_USER, **_static_users(options)}
        #: Counters of service account tokens.
        self.token_metrics: Final = TokenMetrics()
        accounts = ServiceAccountTokens(
            keys,
            self._objects,
            issuers=issuers,
            audiences=self.audiences,
            clock=clock,
            metrics=self.token_metrics,
        )
        self.static_tokens: Final = StaticTokens(users, audiences=self.audiences)
        tokens: list[TokenAuthenticator] = [
            self.static_tokens,
            accounts,
            LegacyTokens(
                keys,
                self._objects,
                self._objects,
                audiences=self.audiences,
                on_use=self.token_uses.note,
                metrics=self.token_metrics,
            ),
        ]
        if options.enable_bootstrap_token_auth:
            tokens.append(BootstrapTokens(self._objects, audiences=self.audiences, clock=clock))
        #: JWT authenticators, and the configuration file with its reloads; None without either.
        self.configured: Final = _configured(options, self.audiences, clock)
        anonymous = None
        if self.configured is not None:
            tokens.append(self.configured.tokens)
            anonymous = self.configured.anonymous
        #: Token webhook; None without one.
        self.webhook: Final = _webhook(options, self.audiences, clock)
        if self.webhook is not None:
            tokens.append(self.webhook.tokens)
        self.tokens: Final = tuple(tokens)
        #: Authorities of client certificates, set before the server listens.
        self.certificate_authorities: Final = CertificateAuthorities()
        self.certificates: Final = ClientCertificate(clock, self.certificate_authorities)
        front_proxies = _front_proxies(options, self.certificate_authorities, clock)
        bearer = BearerToken(self.tokens, clock=clock, fixed_tokens=users, token_cache=accounts)
        self.authenticator: Final[ServerAuthenticator] = Union(
            [front_proxies, self.certificates, bearer, WebSocketToken(self.tokens)],
            anonymous=options.anonymous_auth if anonymous is None else anonymous.enabled,
            anonymous_paths=() if anonymous is None else [condition.path for condition in anonymous.conditions],
            certificates=self.certificates,
            bearer_tokens=bearer,
        )

    def follow(self, registry: Registry) -> None:
        """Look up the objects that tokens are bound to in ``registry``."""
        self._objects.follow(registry)


def _static_users(options: APIServerOptions) -> dict[str, UserInfo]:
    """Return the users of ``--token-auth-file`` by token. Raises ``OptionError``."""
    if options.token_auth_file is None:
        return {}
    try:
        return read_token_file(options.token_auth_file)
    except TokenFileError as error:
        raise OptionError(f"--token-auth-file: {error}") from error


def _front_proxies(options: APIServerOptions, authorities: CertificateAuthorities, clock: Clock) -> RequestHeader:
    return RequestHeader(
        authorities,
        clock=clock,
        allowed_names=options.requestheader_allowed_names,
        username_headers=options.requestheader_username_headers,
        uid_headers=options.requestheader_uid_headers,
        group_headers=options.requestheader_group_headers,
        extra_prefixes=options.requestheader_extra_headers_prefix,
    )


def _configured(options: APIServerOptions, audiences: tuple[str, ...], clock: Clock) -> ConfiguredAuthentication | None:
    if options.authentication_config is None and not options.oidc_issuer_url:
        return None
    from steersman.controlplane.authentication.configuration import ConfiguredAuthentication  # noqa: PLC0415 — few have a provider

    return ConfiguredAuthentication(options, audiences=audiences, clock=clock)


def _webhook(options: APIServerOptions, audiences: tuple[str, ...], clock: Clock) -> WebhookAuthentication | None:
    file = options.authentication_token_webhook_config_file
    if file is None:
        return None
    from steersman.controlplane.authentication.webhook import WebhookAuthentication  # noqa: PLC0415 — few have a webhook

    return WebhookAuthentication(options, file, audiences=audiences, clock=clock)
