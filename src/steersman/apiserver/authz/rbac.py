"""``--authorization-mode RBAC``: allowed is what a role says that the user holds.

A user's rights are looked up once and kept until any role or binding changes; so are the answers to its questions, by
verb, namespace and resource (and, where rules name objects, by name). Most requests cost two look-ups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.interface import NO_OPINION, Decision, Rules, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apiserver.authz.policy import PolicyRule
    from steersman.apiserver.authz.rbac_index import Grant, RBACIndex
    from steersman.apiserver.request import RequestInfo, UserInfo

#: Bounds of what is kept: users, and answers of each. What is full is emptied.
_USERS_MAX: Final = 4096
_ANSWERS_MAX: Final = 2048
#: Answers about longer paths and names are worked out each time.
_KEY_LENGTH_MAX: Final = 1024


class _Answer:
    """What is said of any object, and of those that rules name."""

    __slots__ = ("named", "otherwise")

    def __init__(self, named: dict[str, Decision], otherwise: Decision) -> None:
        self.named: Final = named
        self.otherwise: Final = otherwise


class _Rights:
    """What one user may do, worked out as it is asked for."""

    __slots__ = ("_grants", "_index", "answers")

    def __init__(self, index: RBACIndex, user: UserInfo) -> None:
        self._index = index
        self._grants = index.grants(user)
        #: (verb, namespace, group, resource, subresource) or (verb, path) → answer.
        self.answers: dict[tuple[str, ...], Decision | _Answer] = {}

    def rules(self, namespace: str) -> Iterator[tuple[Grant, Sequence[PolicyRule] | None]]:
        """All that is held in a namespace: first what holds everywhere, as upstream's order is."""
        for grant in self._grants.get("", ()):
            yield grant, self._index.rules(grant)
        if namespace:
            for grant in self._grants.get(namespace, ()):
                yield grant, self._index.rules(grant)

    def answer(self, key: tuple[str, ...], info: RequestInfo) -> Decision | _Answer:
        """The answer to a new question, which is kept."""
        answer = self._of_resource(info) if info.is_resource else self._of_path(info)
        if sum(map(len, key)) > _KEY_LENGTH_MAX:
            return answer
        if len(self.answers) >= _ANSWERS_MAX:
            self.answers.clear()
        self.answers[key] = answer
        return answer

    def _of_resource(self, info: RequestInfo) -> Decision | _Answer:
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
            otherwise = _denied(missing)
        return _Answer(named, otherwise) if named else otherwise

    def _of_path(self, info: RequestInfo) -> Decision:
        missing: list[str] = []
        for grant, rules in self.rules(""):
            if rules is None:
                missing.append(grant.missing)
                continue
            for rule in rules:
                if rule.non_resource_urls and rule.allows_verb(info.verb) and rule.allows_path(info.path):
                    return _allowed(grant)
        return _denied(missing)


def _allowed(grant: Grant) -> Decision:
    return Decision(Verdict.ALLOW, f"RBAC: allowed by {grant}")


def _denied(missing: Sequence[str]) -> Decision:
    """No; bindings to roles that are not there are told, as they may be the reason."""
    errors = _joined(missing)
    return Decision(Verdict.NO_OPINION, f"RBAC: {errors}") if errors else NO_OPINION


def _joined(errors: Sequence[str]) -> str:
    """Several errors as one text, each once (``utilerrors.Aggregate``)."""
    once = list(dict.fromkeys(errors))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]" if once else ""


class RBAC:
    """An ``Authorizer`` and a ``RuleResolver`` over an index."""

    def __init__(self, index: RBACIndex) -> None:
        self._index: Final = index
        self._rights: Final[dict[tuple[str, tuple[str, ...]], _Rights]] = {}
        index.on_change = self._rights.clear

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Yes by a role that the user holds; no opinion otherwise."""
        rights = self._rights.get((user.name, user.groups)) or self._rights_of(user)
        if info.is_resource:
            key: tuple[str, ...] = (info.verb, info.namespace, info.group, info.resource, info.subresource)
        else:
            key = (info.verb, info.path)
        answer = rights.answers.get(key) or rights.answer(key, info)
        if isinstance(answer, _Answer):
            return answer.named.get(info.name) or answer.otherwise
        return answer

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Everything that the user holds in a namespace."""
        held: list[PolicyRule] = []
        missing: list[str] = []
        for grant, rules in self._rights_of(user).rules(namespace):
            if rules is None:
                missing.append(grant.missing)
            else:
                held += rules
        return Rules(tuple(held), error=_joined(missing))

    def role_rules(self, kind: str, namespace: str, name: str) -> tuple[PolicyRule, ...] | None:
        """The rules of the role that a binding in ``namespace`` refers to; None when there is none."""
        return self._index.role_rules(("", name) if kind == "ClusterRole" else (namespace, name))

    def _rights_of(self, user: UserInfo) -> _Rights:
        key = (user.name, user.groups)
        rights = self._rights.get(key)
        if rights is None:
            if len(self._rights) >= _USERS_MAX:
                self._rights.clear()
            rights = self._rights[key] = _Rights(self._index, user)
        return rights
