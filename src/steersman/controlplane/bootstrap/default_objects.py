"""Default objects of every cluster: namespaces, roles, priority classes, flow control and the default ServiceCIDR.

Post-start hooks create them; ``reconcile`` repairs those that no watch covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.controlplane.bootstrap.default_service_cidr import bootstrap_service_cidr
from steersman.controlplane.bootstrap.flow_control import bootstrap_flow_control
from steersman.controlplane.bootstrap.post_start_hooks import create_default_service_accounts, create_system_namespaces
from steersman.controlplane.bootstrap.priority_classes import bootstrap_priority_classes
from steersman.controlplane.bootstrap.rbac import bootstrap_roles
from steersman.controlplane.runtime_config import serves_migrations

if TYPE_CHECKING:
    from steersman.apiserver.server.loopback import Loopback
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authorization.authorization import Authorization
    from steersman.controlplane.bootstrap.post_start_hooks import PostStartHooks
    from steersman.controlplane.options import APIServerOptions

#: Names of hooks that others depend on.
NAMESPACES_HOOK: Final = "start-system-namespaces-controller"
SERVICE_CIDR_HOOK: Final = "start-kubernetes-service-cidr-controller"
FLOW_CONTROL_HOOK: Final = "priority-and-fairness-config-producer"


class DefaultObjects:
    """Default objects of one API server. All methods raise ``BootstrapError``."""

    def __init__(
        self, client: Loopback, options: APIServerOptions, *, clock: Clock, authorization: Authorization
    ) -> None:
        self._client: Final = client
        self._clock: Final = clock
        self._authorization: Final = authorization
        self._namespaces: Final = options.system_namespaces
        self._service_cidrs: Final = [text.strip() for text in options.service_cluster_ip_range.split(",")]
        self._with_migrations: Final = serves_migrations(options)
        #: True to create the ServiceAccounts ``default`` of system namespaces, too; see ``APIServer.start``.
        self.makes_service_accounts = False

    def add_hooks(self, hooks: PostStartHooks) -> None:
        """Add the hooks that create the objects, under upstream's names."""
        client = self._client
        hooks.add(NAMESPACES_HOOK, self._create_namespaces)
        hooks.add("rbac/bootstrap-roles", self._create_roles, after=[NAMESPACES_HOOK])
        hooks.add("scheduling/bootstrap-system-priority-classes", lambda: bootstrap_priority_classes(client))
        hooks.add(FLOW_CONTROL_HOOK, lambda: bootstrap_flow_control(client))
        hooks.add(SERVICE_CIDR_HOOK, self.create_service_cidr)

    async def reconcile(self) -> None:
        """Repair roles, priority classes and flow control."""
        await self._create_roles()
        await bootstrap_priority_classes(self._client)
        await bootstrap_flow_control(self._client)

    async def create_service_cidr(self) -> None:
        """Create the ServiceCIDR ``kubernetes`` of the server's own ranges, unless it exists."""
        await bootstrap_service_cidr(self._client, self._service_cidrs, now=self._clock.now())

    async def _create_namespaces(self) -> None:
        await create_system_namespaces(self._client, self._namespaces)
        if self.makes_service_accounts:
            await create_default_service_accounts(self._client, self._namespaces)

    async def _create_roles(self) -> None:
        await self._authorization.ready()
        if self._authorization.uses_rbac:
            await bootstrap_roles(self._client, with_migrations=self._with_migrations)
