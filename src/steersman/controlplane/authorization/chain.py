"""Chain of authorizers of the options, its webhooks, and reloads of ``--authorization-config``.

Upstream: ``reloadableAuthorizerResolver`` of pkg/kubeapiserver/authorizer/reload.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from steersman.apiserver.authz.counted import CountedAuthorizer
from steersman.apiserver.authz.interface import Authorizer, RuleResolver
from steersman.apiserver.authz.modes import Chain, PrivilegedGroups
from steersman.apiserver.authz.pending import StepDecisions
from steersman.apiserver.authz.unsafe_proxy import UnsafeProxy
from steersman.controlplane.authorization.options import (
    CONFIG_FLAG,
    WEBHOOK_FLAG,
    authorizers_of,
    configured_authorizers,
)
from steersman.controlplane.option_files import read_file
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from pathlib import Path
    from random import Random

    from steersman.apiserver.observability.metrics import Family
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authorization.authorizers import AuthorizerConfiguration
    from steersman.controlplane.authorization.webhooks import AuthorizationWebhooks
    from steersman.controlplane.config_reload import ConfigReload
    from steersman.controlplane.options import APIServerOptions


class ModeAuthorizer(Authorizer, RuleResolver, Protocol):
    """Authorizer of a mode."""


class AuthorizerChain:
    """``system:masters``, then the authorizers of the options. Raises ``OptionError``."""

    def __init__(
        self,
        options: APIServerOptions,
        make: Callable[[str], ModeAuthorizer],
        *,
        clock: Clock,
        dice: Random,
    ) -> None:
        """``make`` returns the authorizer of a type that is no webhook."""
        self._make: Final = make
        self._clock: Final = clock
        self._dice: Final = dice
        self._flag = WEBHOOK_FLAG if options.authorization_config is None else CONFIG_FLAG
        self._webhooks: AuthorizationWebhooks | None = None
        #: By type and name; those of former configurations keep their counts.
        self._counted: Final[dict[tuple[str, str], CountedAuthorizer]] = {}
        self._by_type: Final[dict[str, ModeAuthorizer]] = {}
        self._modes: Final = Chain(())
        self.authorizer: Final = Chain(())
        #: Reload of the configuration file; None without one.
        self.reload: ConfigReload | None = None
        path = options.authorization_config
        if path is None:
            configuration = authorizers_of(options)
        else:
            data = read_file(CONFIG_FLAG, path)
            configuration = configured_authorizers(path, data)
            self._open_webhooks()  # a reload may add the first one
            self.reload = self._reload_of(path, data)
        #: Types other than webhooks, which stay the same after reloads.
        self.types: Final = frozenset(config.type for config in configuration if config.webhook is None)
        for type_ in self.types:
            self._by_type[type_] = make(type_)
        authorizers = self._authorizers(configuration)
        modes = StepDecisions(self._modes) if self.waits else self._modes
        self._privileged: Final = (PrivilegedGroups(), UnsafeProxy(modes))
        self._use(configuration, authorizers)
        if self.waits:
            self._open_webhooks().adopt()

    @property
    def waits(self) -> bool:
        """Report whether the authorizer may raise ``PendingDecisionError``, because it asks webhooks."""
        return self._webhooks is not None

    @property
    def counted(self) -> Iterable[CountedAuthorizer]:
        """Authorizers with the numbers of their decisions."""
        return self._counted.values()

    @property
    def collectors(self) -> list[Callable[[], Awaitable[Iterable[Family]]]]:
        """Collectors of the metrics of webhooks and reloads."""
        webhooks = [] if self._webhooks is None else [self._webhooks.collect]
        return [*webhooks, *([] if self.reload is None else [self.reload.collect])]

    async def close(self) -> None:
        """Close the connections to webhooks."""
        if self._webhooks is not None:
            await self._webhooks.close()

    def _open_webhooks(self) -> AuthorizationWebhooks:
        if self._webhooks is None:
            from steersman.controlplane.authorization.webhooks import (  # noqa: PLC0415 — few servers ask webhooks
                AuthorizationWebhooks,
            )

            self._webhooks = AuthorizationWebhooks(clock=self._clock, dice=self._dice)
        return self._webhooks

    def _reload_of(self, path: Path, data: bytes) -> ConfigReload:
        from steersman.controlplane.config_reload import (  # noqa: PLC0415 — few servers have the file
            ConfigReload,
            InvalidConfigError,
        )

        async def apply(fresh: bytes) -> None:
            try:
                await self._apply(path, fresh)
            except OptionError as error:
                raise InvalidConfigError(str(error)) from error

        reload = ConfigReload(
            path, data, apply, metric_prefix="apiserver_authorization_config_controller", clock=self._clock
        )
        reload.metrics.count("success")  # as upstream, the first load
        return reload

    async def _apply(self, path: Path, data: bytes) -> None:
        """Use the contents of the configuration file from now on. Raises ``OptionError``."""
        from steersman.controlplane.authorization.webhooks import close_all  # noqa: PLC0415 — as above

        configuration = configured_authorizers(path, data, required_types=self.types)
        webhooks = self._open_webhooks()
        try:
            authorizers = self._authorizers(configuration)
        except OptionError:
            await webhooks.discard()
            raise
        self._use(configuration, authorizers)
        await close_all(webhooks.adopt())

    def _authorizers(self, configuration: Sequence[AuthorizerConfiguration]) -> list[ModeAuthorizer]:
        return [
            self._of_type(config.type)
            if config.webhook is None
            else self._open_webhooks().authorizer(self._flag, config.name, config.webhook)
            for config in configuration
        ]

    def _of_type(self, type_: str) -> ModeAuthorizer:
        """Return the authorizer of a type. Raises ``OptionError`` if it cannot be added by a reload."""
        authorizer = self._by_type.get(type_)
        if authorizer is None:
            if not type_.startswith("Always"):
                raise OptionError(
                    f"{CONFIG_FLAG}: authorizer type {type_} is not allowed if it was not enabled at initial server startup"
                )
            authorizer = self._by_type[type_] = self._make(type_)
        return authorizer

    def _use(self, configuration: Sequence[AuthorizerConfiguration], authorizers: Sequence[ModeAuthorizer]) -> None:
        chain: list[CountedAuthorizer] = []
        for config, authorizer in zip(configuration, authorizers, strict=True):
            counted = CountedAuthorizer(config.type, authorizer, name=config.name)
            former = self._counted.get((config.type, config.name))
            if former is not None:
                counted.allowed, counted.denied = former.allowed, former.denied
            self._counted[config.type, config.name] = counted
            chain.append(counted)
        self._modes.replace(chain)
        self.authorizer.replace(self._privileged, resolvers=authorizers)
