"""FlowSchemas: matching of requests, and flow distinguishers. Upstream: ``flowcontrol/rule.go``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestInfo, UserInfo


_ALL: Final = "*"
#: Default of ``matchingPrecedence``.
_PRECEDENCE: Final = 1000


class _Subjects:
    """Subjects of a rule."""

    __slots__ = ("_all", "_groups", "_namespaces", "_users")

    def __init__(self, subjects: Sequence[Tree]) -> None:
        users: set[str] = set()
        groups: set[str] = set()
        namespaces: list[str] = []
        for subject in subjects:
            if subject.get("kind") == "User":
                users.add((subject.get("user") or {}).get("name", ""))
            elif subject.get("kind") == "Group":
                groups.add((subject.get("group") or {}).get("name", ""))
            else:
                account = subject.get("serviceAccount") or {}
                prefix = f"system:serviceaccount:{account.get('namespace', '')}:"
                if account.get("name") == _ALL:
                    namespaces.append(prefix)
                else:
                    users.add(prefix + account.get("name", ""))
        self._all: Final = _ALL in users or _ALL in groups
        self._users: Final = frozenset(users)
        self._groups: Final = frozenset(groups)
        self._namespaces: Final = tuple(namespaces)

    def match(self, user: UserInfo) -> bool:
        return (
            self._all
            or user.name in self._users
            or not self._groups.isdisjoint(user.groups)
            or bool(self._namespaces and user.name.startswith(self._namespaces))
        )


def _takes(values: Collection[str], value: str) -> bool:
    return value in values or _ALL in values


class _ResourceRule:
    __slots__ = ("_cluster", "_groups", "_namespaces", "_resources", "_verbs", "takes_all")

    def __init__(self, tree: Tree) -> None:
        self._verbs: Final = frozenset(tree.get("verbs") or ())
        self._groups: Final = frozenset(tree.get("apiGroups") or ())
        self._resources: Final = frozenset(tree.get("resources") or ())
        self._namespaces: Final = frozenset(tree.get("namespaces") or ())
        self._cluster: Final = bool(tree.get("clusterScope"))
        stars = all(_ALL in values for values in (self._verbs, self._groups, self._resources, self._namespaces))
        #: True if the rule matches every request.
        self.takes_all: Final = stars and self._cluster

    def match(self, info: RequestInfo) -> bool:
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        return (
            _takes(self._verbs, info.verb)
            and _takes(self._resources, resource)
            and _takes(self._groups, info.group)
            and (_takes(self._namespaces, info.namespace) if info.namespace else self._cluster)
        )


class _PathRule:
    """Rule for non-resource URLs; a path covers those below it, with or without a final ``*``."""

    __slots__ = ("_paths", "_prefixes", "_verbs", "takes_all")

    def __init__(self, tree: Tree) -> None:
        self._verbs: Final = frozenset(tree.get("verbs") or ())
        paths = tree.get("nonResourceURLs") or ()
        self._paths: Final = frozenset(paths)
        self._prefixes: Final = tuple(path.removesuffix(_ALL).removesuffix("/") + "/" for path in paths)
        self.takes_all: Final = _ALL in self._verbs and _ALL in self._paths

    def match(self, info: RequestInfo) -> bool:
        if not _takes(self._verbs, info.verb):
            return False
        return _takes(self._paths, info.path) or info.path.startswith(self._prefixes)


class PolicyRule:
    """One rule of a schema."""

    __slots__ = ("_every_path", "_every_resource", "_paths", "_resources", "subjects")

    def __init__(self, tree: Tree) -> None:
        self.subjects: Final = _Subjects(tree.get("subjects") or ())
        self._resources: Final = tuple(
            _ResourceRule(resource_rule) for resource_rule in tree.get("resourceRules") or ()
        )
        self._paths: Final = tuple(_PathRule(path_rule) for path_rule in tree.get("nonResourceRules") or ())
        self._every_resource: Final = any(rule.takes_all for rule in self._resources)
        self._every_path: Final = any(rule.takes_all for rule in self._paths)

    def match(self, info: RequestInfo) -> bool:
        """True if the rule matches the request; subjects are matched before."""
        if info.is_resource:
            return self._every_resource or any(rule.match(info) for rule in self._resources)
        return self._every_path or any(rule.match(info) for rule in self._paths)


class FlowSchema:
    """A parsed FlowSchema."""

    __slots__ = ("distinguisher", "level", "name", "precedence", "rules", "uid")

    def __init__(self, tree: Tree) -> None:
        metadata, spec = tree.get("metadata") or {}, tree.get("spec") or {}
        self.name: Final[str] = metadata.get("name", "")
        self.uid: Final[str] = metadata.get("uid", "")
        #: Precedence; lower values match first.
        self.precedence: Final[int] = spec.get("matchingPrecedence") or _PRECEDENCE
        #: Name of its priority level.
        self.level: Final[str] = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
        #: ``ByUser``, ``ByNamespace``, or empty: all requests are one flow.
        self.distinguisher: Final[str] = (spec.get("distinguisherMethod") or {}).get("type", "")
        self.rules: Final = tuple(PolicyRule(rule) for rule in spec.get("rules") or ())

    def rules_of(self, user: UserInfo) -> tuple[PolicyRule, ...]:
        """Return the rules whose subjects match a user."""
        return tuple(rule for rule in self.rules if rule.subjects.match(user))

    def flow_of(self, user: UserInfo, info: RequestInfo) -> str:
        """Return the flow distinguisher of a request."""
        if self.distinguisher == "ByUser":
            return user.name
        return info.namespace if self.distinguisher == "ByNamespace" else ""
