"""Authentication and authorization, built from options. Upstream: ``BuildAuthn``/``BuildAuthorizer`` of kube-apiserver."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

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
from steersman.apiserver.authz.escalation import EscalationGuard
from steersman.apiserver.authz.modes import AlwaysAllow, AlwaysDeny
from steersman.apiserver.authz.node import NodeAuthorizer
from steersman.apiserver.authz.node_graph import NodeGraph
from steersman.apiserver.authz.policy import GROUP
from steersman.apiserver.authz.rbac import RBAC
from steersman.apiserver.authz.rbac_index import RBACIndex
from steersman.apiserver.endpoints.bound_objects import StoredObjects
from steersman.apiserver.kinds.admissionregistration.shared.param_access import ParamAccess
from steersman.apiserver.kinds.rbac.shared.index_feed import follow_rbac
from steersman.apiserver.request import UserInfo
from steersman.asynckit.clock import RealClock
from steersman.controlplane.authorization_options import read_abac
from steersman.controlplane.authorizer_chain import AuthorizerChain
from steersman.controlplane.bootstrap.rbac import system_node_rules
from steersman.controlplane.options import OptionError
from steersman.controlplane.token_uses import TokenUses

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.authn.interface import ServerAuthenticator, TokenAuthenticator
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.strategy import Strategy
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authentication_config import ConfiguredAuthentication
    from steersman.controlplane.authorizer_chain import ModeAuthorizer
    from steersman.controlplane.options import APIServerOptions
    from steersman.controlplane.service_account_keys import AccountKeys
    from steersman.controlplane.webhook_authentication import WebhookAuthentication

#: User of the server's own loopback requests.
LOOPBACK_USER: Final = UserInfo("system:apiserver", (MASTERS_GROUP,))

_ADMISSION: Final = "admissionregistration.k8s.io"


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
    from steersman.controlplane.authentication_config import ConfiguredAuthentication  # noqa: PLC0415 — few have a provider

    return ConfiguredAuthentication(options, audiences=audiences, clock=clock)


def _webhook(options: APIServerOptions, audiences: tuple[str, ...], clock: Clock) -> WebhookAuthentication | None:
    file = options.authentication_token_webhook_config_file
    if file is None:
        return None
    from steersman.controlplane.webhook_authentication import WebhookAuthentication  # noqa: PLC0415 — few have a webhook

    return WebhookAuthentication(options, file, audiences=audiences, clock=clock)


class Authorization:
    """Authorizers in order: ``system:masters``, then the configured modes. Raises ``OptionError``.

    Modes that use stored objects have none before ``follow`` and ``ready``.
    """

    def __init__(self, options: APIServerOptions, *, clock: Clock | None = None, dice: Random | None = None) -> None:
        """``clock`` and ``dice`` are those of webhooks."""
        self._options: Final = options
        self._index: Final = RBACIndex()
        self._registry: Registry | None = None
        self._caches: Final[list[WatchCache]] = []
        #: RBAC rules are also needed without the mode: escalation checks compare with the grantor's permissions.
        self.rbac: Final = RBAC(self._index)
        dice = dice or Random()  # noqa: S311 — pauses are no secret
        #: Authorizers in order.
        self.chain: Final = AuthorizerChain(options, self._make, clock=clock or RealClock(), dice=dice)
        self.uses_rbac: Final = "RBAC" in self.chain.types
        self.authorizer: Final = self.chain.authorizer
        self._guard: Final = EscalationGuard(self.authorizer, self.rbac)

    def _make(self, type_: str) -> ModeAuthorizer:
        if type_ == "AlwaysAllow":
            return AlwaysAllow()
        if type_ == "AlwaysDeny":
            return AlwaysDeny()
        if type_ == "ABAC":
            return read_abac(self._options)
        return self.rbac if type_ == "RBAC" else NodeAuthorizer(self._node_graph, system_node_rules)

    def _node_graph(self) -> NodeGraph:
        from steersman.apiserver.kinds.core.node.graph_feed import node_graph  # noqa: PLC0415 — when there is a node

        return NodeGraph() if self._registry is None else node_graph(self._registry)

    def strategies(self) -> dict[str, Callable[[], Strategy]]:
        """Return the strategies of roles, policies and bindings that prevent privilege escalation, by group resource."""
        strategies: dict[str, Callable[[], Strategy]] = {
            f"{plural}.{GROUP}": partial(_guarded, plural, self._guard)
            for plural in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
        }
        for prefix in ("validatingadmission", "mutatingadmission"):
            access = self._param_access(f"{prefix}policies")
            for plural in (f"{prefix}policies", f"{prefix}policybindings"):
                strategies[f"{plural}.{_ADMISSION}"] = partial(_policies, plural, access)
        return strategies

    def _param_access(self, policies: str) -> ParamAccess:
        return ParamAccess(self.authorizer, self._resource_of, partial(self._param_kind, policies))

    def _resource_of(self, api_version: str, kind: str) -> str:
        resources = [] if self._registry is None else self._registry.of_kind(api_version, kind)
        return resources[0].name if resources else ""

    def _param_kind(self, policies: str, name: str) -> dict[str, Any] | None:
        """Return the parameter kind of a policy from the cache."""
        if self._registry is None:
            return None
        cache = self._registry.stored(f"{policies}.{_ADMISSION}").cache
        entry = cache.get(cache.key("", name))
        return None if entry is None else (entry.tree().get("spec") or {}).get("paramKind")

    def follow(self, registry: Registry) -> None:
        """Start authorizing by the objects stored in ``registry``."""
        self._registry = registry
        self._caches.extend(follow_rbac(self._index, registry))

    @property
    def is_ready(self) -> bool:
        """Report whether the caches of all stored objects are synced."""
        return all(cache.is_ready for cache in self._caches)

    async def ready(self) -> None:
        """Wait until the caches of all stored objects are synced. Raises 429 after a timeout."""
        for cache in self._caches:
            await cache.ready()


def _policies(plural: str, access: ParamAccess) -> Strategy:
    from steersman.apiserver.kinds.admissionregistration import (  # noqa: PLC0415 — when asked for
        mutatingadmissionpolicy,
        mutatingadmissionpolicybinding,
        validatingadmissionpolicy,
        validatingadmissionpolicybinding,
    )

    strategies: dict[str, Callable[[ParamAccess], Strategy]] = {
        "mutatingadmissionpolicies": mutatingadmissionpolicy.MutatingAdmissionPolicyStrategy,
        "mutatingadmissionpolicybindings": mutatingadmissionpolicybinding.MutatingAdmissionPolicyBindingStrategy,
        "validatingadmissionpolicies": validatingadmissionpolicy.ValidatingAdmissionPolicyStrategy,
        "validatingadmissionpolicybindings": validatingadmissionpolicybinding.ValidatingAdmissionPolicyBindingStrategy,
    }
    return strategies[plural](access)


def _guarded(plural: str, guard: EscalationGuard) -> Strategy:
    from steersman.apiserver.kinds.rbac.clusterrole import ClusterRoleStrategy  # noqa: PLC0415 — when asked for
    from steersman.apiserver.kinds.rbac.clusterrolebinding import ClusterRoleBindingStrategy  # noqa: PLC0415
    from steersman.apiserver.kinds.rbac.role import RoleStrategy  # noqa: PLC0415
    from steersman.apiserver.kinds.rbac.rolebinding import RoleBindingStrategy  # noqa: PLC0415

    strategies: dict[str, Callable[[EscalationGuard], Strategy]] = {
        "roles": RoleStrategy,
        "clusterroles": ClusterRoleStrategy,
        "rolebindings": RoleBindingStrategy,
        "clusterrolebindings": ClusterRoleBindingStrategy,
    }
    return strategies[plural](guard)
