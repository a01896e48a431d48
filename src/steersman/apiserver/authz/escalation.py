"""Privilege escalation checks of writes to roles and bindings. Upstream: ``registry/rbac/*/policybased``.

Users with the verb ``escalate`` or ``bind`` on the role are exempt, as is ``system:masters``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import forbidden, not_found, plain_error
from steersman.apimachinery.gotext import quote
from steersman.apiserver.authn.interface import MASTERS_GROUP
from steersman.apiserver.authz.policy import GROUP, PolicyRule
from steersman.apiserver.authz.policy_comparator import compact_rules, uncovered
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
    """Escalation checks. Writes of large roles run in workers; held rules are read on the event loop."""

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
        """Raise 403 if ``user`` may not write a role with these rules. ``path_name`` is empty for a POST.

        ``aggregates``: the new or old role has an aggregation rule, which requires all permissions.
        """
        if self._is_exempt(user) or self._is_authorized(user, "escalate", kind, namespace=namespace, name=path_name):
            return
        plural = f"{_PLURALS[kind]}.{GROUP}"
        if missing := self._missing_permissions(user, namespace, rules):
            raise forbidden(plural, name, missing)
        if aggregates and self._missing_permissions(user, namespace, _EVERYTHING):
            raise forbidden(plural, name, "must have cluster-admin privileges to use the aggregationRule")

    def check_binding(self, user: UserInfo, ref: RoleRef, *, kind: str, namespace: str, name: str) -> None:
        """Raise 403 if ``user`` may not bind the role, 404 if the role does not exist, 500 for another kind."""
        if self._is_exempt(user):
            return
        if ref.kind not in _PLURALS:
            raise plain_error(f"unsupported role reference kind: {quote(ref.kind)}")
        if self._is_authorized(user, "bind", ref.kind, namespace=namespace, name=ref.name):
            return
        rules = on_loop(self._rbac.role_rules, ref.kind, namespace, ref.name)
        if rules is None:
            raise not_found(f"{ref.kind.lower()}.{GROUP}", ref.name)
        if missing := self._missing_permissions(user, namespace, rules):
            raise forbidden(f"{kind.lower()}s.{GROUP}", name, missing)

    def _is_exempt(self, user: UserInfo) -> bool:
        return MASTERS_GROUP in user.groups

    def _is_authorized(self, user: UserInfo, verb: str, kind: str, *, namespace: str, name: str) -> bool:
        info = RequestInfo(verb, "", True, GROUP, "*", namespace, _PLURALS[kind], name)
        return on_loop(self._authorizer.authorize, user, info).allowed

    def _missing_permissions(self, user: UserInfo, namespace: str, rules: Sequence[PolicyRule]) -> str:
        """Return an error text with the rules that ``user`` lacks; empty without any."""
        held = on_loop(self._rbac.rules_for, user, namespace)
        missing = uncovered(held.rules, rules)
        if not missing:
            return ""
        groups = " ".join(quote(group) for group in user.groups)
        rules_text = "\n".join(sorted({str(rule) for rule in compact_rules(missing)}))
        message = (
            f"user {quote(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n"
            f"{rules_text}"
        )
        return f"{message}; resolution errors: [{held.error}]" if held.error else message
