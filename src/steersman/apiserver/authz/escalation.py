"""Nobody grants what he does not hold: checks of writes to roles and bindings (``registry/rbac/*/policybased``).

Who may ``escalate`` a role, or ``bind`` one, is not checked, nor is ``system:masters``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import forbidden, not_found
from steersman.apimachinery.gotext import quote
from steersman.apiserver.authn.interface import MASTERS_GROUP
from steersman.apiserver.authz.covering import compacted, uncovered
from steersman.apiserver.authz.policy import GROUP, PolicyRule
from steersman.apiserver.request import RequestInfo
from steersman.apiserver.workers import on_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.authz.policy import RoleRef
    from steersman.apiserver.authz.rbac import RBAC
    from steersman.apiserver.request import UserInfo

_EVERYTHING: Final = (
    PolicyRule(verbs=("*",), api_groups=("*",), resources=("*",)),
    PolicyRule(verbs=("*",), non_resource_urls=("*",)),
)
_PLURALS: Final = {"ClusterRole": "clusterroles", "Role": "roles"}


class EscalationGuard:
    """Raises 403 for who reaches too far. Writes of large roles are checked in workers: the loop answers what is held."""

    def __init__(self, authorizer: Authorizer, rbac: RBAC) -> None:
        self._authorizer: Final = authorizer
        self._rbac: Final = rbac

    def check_role(
        self,
        user: UserInfo,
        rules: Sequence[PolicyRule],
        *,
        kind: str,
        namespace: str,
        name: str,
        path_name: str,
        aggregates: bool = False,
    ) -> None:
        """May ``user`` write a role (``kind``) with these rules? ``path_name`` is empty when a POST makes it.

        Who writes one that ``aggregates`` others, or did so before, must hold everything.
        """
        if self._is_free(user) or self._may(user, "escalate", kind, namespace=namespace, name=path_name):
            return
        plural = f"{_PLURALS[kind]}.{GROUP}"
        if why := self._missing(user, namespace, rules):
            raise forbidden(plural, name, why)
        if aggregates and self._missing(user, namespace, _EVERYTHING):
            raise forbidden(plural, name, "must have cluster-admin privileges to use the aggregationRule")

    def check_binding(self, user: UserInfo, ref: RoleRef, *, kind: str, namespace: str, name: str) -> None:
        """May ``user`` write a binding (``kind``) to a role? Raises 404 when there is no such role."""
        if self._is_free(user) or (
            ref.kind in _PLURALS and self._may(user, "bind", ref.kind, namespace=namespace, name=ref.name)
        ):
            return
        rules = on_loop(self._rbac.role_rules, ref.kind, namespace, ref.name)
        if rules is None:
            raise not_found(f"{ref.kind.lower()}.{GROUP}", ref.name)
        if why := self._missing(user, namespace, rules):
            raise forbidden(f"{kind.lower()}s.{GROUP}", name, why)

    def _is_free(self, user: UserInfo) -> bool:
        return MASTERS_GROUP in user.groups

    def _may(self, user: UserInfo, verb: str, kind: str, *, namespace: str, name: str) -> bool:
        info = RequestInfo(verb, "", True, GROUP, "*", namespace, _PLURALS[kind], name)
        return on_loop(self._authorizer.authorize, user, info).allowed

    def _missing(self, user: UserInfo, namespace: str, rules: Sequence[PolicyRule]) -> str:
        """What ``user`` lacks of these rules, as a refusal tells it; empty when nothing is lacking."""
        held = on_loop(self._rbac.rules_for, user, namespace)
        missing = uncovered(held.rules, rules)
        if not missing:
            return ""
        groups = " ".join(quote(group) for group in user.groups)
        told = "\n".join(sorted({str(rule) for rule in compacted(missing)}))
        why = (
            f"user {quote(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n"
            f"{told}"
        )
        return f"{why}; resolution errors: [{held.error}]" if held.error else why
