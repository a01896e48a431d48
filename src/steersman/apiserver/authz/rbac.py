"""``--authorization-mode RBAC``: a request is allowed if a rule of a role bound to the user matches.

The grants of a user are cached until a role or binding changes, as are decisions by verb, namespace and resource (and
name, if rules have resource names). Most requests cost two lookups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.interface import NO_OPINION, Decision, Rules, Verdict, aggregate_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apiserver.authz.policy import PolicyRule
    from steersman.apiserver.authz.rbac_index import Grant, RBACIndex
    from steersman.apiserver.request import RequestInfo, UserInfo

#: Maximum number of cached users, and of decisions per user; a full cache is cleared.
_USERS_MAX: Final = 4096
_ANSWERS_MAX: Final = 2048
#: Decisions about longer paths and names are not cached.
_KEY_LENGTH_MAX: Final = 1024


class _DecisionByName:
    """Decisions by object name, and the decision for other names."""

    __slots__ = ("named", "otherwise")

    def __init__(self, named: dict[str, Decision], otherwise: Decision) -> None:
        self.named: Final = named
        self.otherwise: Final = otherwise


class _UserGrants:
    """Cached grants and decisions of one user."""

    __slots__ = ("_grants", "_index", "answers")

    def __init__(self, index: RBACIndex, user: UserInfo) -> None:
        self._index = index
        self._grants = index.grants(user)
        #: (verb, namespace, group, resource, subresource) or (verb, path) → decision.
        self.answers: dict[tuple[str, ...], Decision | _DecisionByName] = {}

    def rules(self, namespace: str) -> Iterator[tuple[Grant, Sequence[PolicyRule] | None]]:
        """Yield all grants that apply in a namespace; cluster-wide ones first, as upstream."""
        for grant in self._grants.get("", ()):
            yield grant, self._index.rules(grant)
        if namespace:
            for grant in self._grants.get(namespace, ()):
                yield grant, self._index.rules(grant)

    def answer(self, key: tuple[str, ...], info: RequestInfo) -> Decision | _DecisionByName:
        """Return and cache a new decision."""
        answer = self._of_resource(info) if info.is_resource else self._of_path(info)
        if sum(map(len, key)) > _KEY_LENGTH_MAX:
            return answer
        if len(self.answers) >= _ANSWERS_MAX:
            self.answers.clear()
        self.answers[key] = answer
        return answer

    def _of_resource(self, info: RequestInfo) -> Decision | _DecisionByName:
        named: dict[str, Decision] = {}
        otherwise: Decision | None = None
        missing: list[str] = []
        for grant, rules in self.rules(info.namespace):
            if rules is None:
                missing.append(grant.missing)
                continue
            for rule in rules:
                if not rule.allows_verb(info.verb):
                    continue
                if not rule.allows_resource(info.group, info.resource, info.subresource):
                    continue
                if not rule.resource_names:
                    otherwise = _allowed(grant)
                    break
                for name in rule.resource_names:
                    named.setdefault(name, _allowed(grant))
            if otherwise is not None:
                break
        if otherwise is None:
            otherwise = _no_opinion(missing)
        return _DecisionByName(named, otherwise) if named else otherwise

    def _of_path(self, info: RequestInfo) -> Decision:
        missing: list[str] = []
        for grant, rules in self.rules(""):
            if rules is None:
                missing.append(grant.missing)
                continue
            for rule in rules:
                if rule.non_resource_urls and rule.allows_verb(info.verb) and rule.allows_path(info.path):
                    return _allowed(grant)
        return _no_opinion(missing)


def _allowed(grant: Grant) -> Decision:
    return Decision(Verdict.ALLOW, f"RBAC: allowed by {grant}")


def _no_opinion(missing: Sequence[str]) -> Decision:
    """Return no opinion, with bindings to missing roles as reason."""
    errors = aggregate_errors(missing)
    return Decision(Verdict.NO_OPINION, f"RBAC: {errors}") if errors else NO_OPINION


class RBAC:
    """``Authorizer`` and ``RuleResolver`` over an RBAC index."""

    def __init__(self, index: RBACIndex) -> None:
        self._index: Final = index
        self._rights: Final[dict[tuple[str, tuple[str, ...]], _UserGrants]] = {}
        index.on_change = self._rights.clear

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allow if a role of the user has a matching rule; otherwise no opinion."""
        rights = self._rights.get((user.name, user.groups)) or self._rights_of(user)
        if info.is_resource:
            key: tuple[str, ...] = (info.verb, info.namespace, info.group, info.resource, info.subresource)
        else:
            key = (info.verb, info.path)
        answer = rights.answers.get(key) or rights.answer(key, info)
        if isinstance(answer, _DecisionByName):
            return answer.named.get(info.name) or answer.otherwise
        return answer

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return the rules of all roles that the user has in a namespace."""
        held_rules: list[PolicyRule] = []
        missing: list[str] = []
        for grant, rules in self._rights_of(user).rules(namespace):
            if rules is None:
                missing.append(grant.missing)
            else:
                held_rules += rules
        return Rules(tuple(held_rules), error=aggregate_errors(missing))

    def role_rules(self, kind: str, namespace: str, name: str) -> tuple[PolicyRule, ...] | None:
        """Return the rules of the role that a binding in ``namespace`` refers to; None if it does not exist."""
        if kind == "ClusterRole":
            return self._index.role_rules(("", name))
        return self._index.role_rules((namespace, name)) if namespace else None

    def _rights_of(self, user: UserInfo) -> _UserGrants:
        key = (user.name, user.groups)
        rights = self._rights.get(key)
        if rights is None:
            if len(self._rights) >= _USERS_MAX:
                self._rights.clear()
            rights = self._rights[key] = _UserGrants(self._index, user)
        return rights
