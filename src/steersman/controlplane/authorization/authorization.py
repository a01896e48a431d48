"""Authorization of one API server, built from options. Upstream: ``Config.New`` of pkg/kubeapiserver/authorizer/config.go"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.authz.escalation import EscalationGuard
from steersman.apiserver.authz.modes import AlwaysAllow, AlwaysDeny
from steersman.apiserver.authz.node import NodeAuthorizer
from steersman.apiserver.authz.node_graph import NodeGraph
from steersman.apiserver.authz.policy import GROUP
from steersman.apiserver.authz.rbac import RBAC
from steersman.apiserver.authz.rbac_index import RBACIndex
from steersman.apiserver.kinds.admissionregistration.shared.param_access import ParamAccess
from steersman.apiserver.kinds.rbac.shared.index_feed import follow_rbac
from steersman.asynckit.clock import RealClock
from steersman.controlplane.authorization.chain import AuthorizerChain
from steersman.controlplane.authorization.options import read_abac
from steersman.controlplane.bootstrap.rbac import system_node_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.strategy import Strategy
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authorization.chain import ModeAuthorizer
    from steersman.controlplane.options import APIServerOptions

_ADMISSION: Final = "admissionregistration.k8s.io"


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
