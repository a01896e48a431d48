"""What answers requests for resources: the registry over a store, admission, and the router before them."""

from __future__ import annotations

from ipaddress import ip_network
from random import Random
from typing import TYPE_CHECKING, Final

from steersman.apiserver.admission.builtin import default_plugins
from steersman.apiserver.admission.chain import ORDER, AdmissionChain
from steersman.apiserver.endpoints.router import Router
from steersman.apiserver.endpoints.subresources import subresources
from steersman.apiserver.registry.registry import Registry
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.access_endpoints import access_endpoints
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.admission.interface import Plugin
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.registry.strategy import Strategy
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.access import Authentication, Authorization
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

#: Keys that heartbeats overwrite all the time and whose past nobody reads: the store keeps no history of them.
HEARTBEAT_PREFIXES: Final = ("/registry/leases/kube-node-lease/",)


class Resources:
    """Registry, admission and router of one API server."""

    def __init__(
        self,
        options: APIServerOptions,
        store: Store,
        *,
        clock: Clock,
        authorization: Authorization,
        authentication: Authentication,
    ) -> None:
        """Raises ``OptionError``."""
        authorizer = authorization.authorizer
        self._tasks = Supervisor("registry")
        dice = Random()  # noqa: S311 — names and choices that others may guess
        self.registry = Registry(
            store,
            clock=clock,
            tasks=self._tasks,
            dice=dice,
            strategies={**_strategies(options, store, dice), **authorization.strategies()},
            min_request_timeout_seconds=options.min_request_timeout_seconds,
        )
        self.admission = AdmissionChain(_plugins(options, self.registry, authorizer, dice))
        connect = subresources(self.registry, admission=self.admission, authorizer=authorizer)
        connect |= access_endpoints(
            self.registry, options, admission=self.admission, authorizer=authorizer, authentication=authentication
        )
        self.router = Router(self.registry, admission=self.admission, authorizer=authorizer, connect=connect)

    async def close(self) -> None:
        """End watches that are left, and what fills caches."""
        self.registry.close()
        await self._tasks.close()


def _strategies(options: APIServerOptions, store: Store, dice: Random) -> dict[str, Callable[[], Strategy]]:
    """Kinds whose strategies need something to work with. Their modules load when the first of the kind is asked for."""
    try:
        networks = [ip_network(text.strip()) for text in options.service_cluster_ip_range.split(",")]
    except ValueError as error:
        raise OptionError(f"--service-cluster-ip-range: {error}") from error

    def services() -> Strategy:
        from steersman.apiserver.registry.allocation import PortRange  # noqa: PLC0415
        from steersman.apiserver.registry.core.service import ServiceStrategy  # noqa: PLC0415
        from steersman.apiserver.registry.core.service_allocation import ServiceAllocator  # noqa: PLC0415

        ports = PortRange(*options.service_node_port_range)
        return ServiceStrategy(ServiceAllocator(store, networks=networks, ports=ports, dice=dice))

    return {"services": services}


def _plugins(options: APIServerOptions, registry: Registry, authorizer: Authorizer, dice: Random) -> list[Plugin]:
    """The admission plugins that are on."""
    plugins = default_plugins(registry.stored, authorizer=authorizer, dice=dice)
    there = {plugin.name for plugin in plugins}
    for flag, names in (
        ("enable-admission-plugins", set(options.enable_admission_plugins) - there),
        ("disable-admission-plugins", set(options.disable_admission_plugins) - set(ORDER)),
    ):
        if names:
            raise OptionError(
                f"--{flag}: there is no plugin {', '.join(sorted(names))}; there are {', '.join(sorted(there))}"
            )
    return [plugin for plugin in plugins if plugin.name not in options.disable_admission_plugins]
