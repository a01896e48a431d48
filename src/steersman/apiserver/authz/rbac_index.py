"""In-memory index of roles and bindings by subject, updated per object."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.gotext import quote
from steersman.apiserver.authz.policy import (
    GROUP,
    Binding,
    PolicyRule,
    Subject,
    account_user,
    decode_binding,
    decode_role,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from steersman.apiserver.request import UserInfo

_log = logging.getLogger(__name__)

#: Namespace (empty if cluster-scoped) and name.
Key = tuple[str, str]
_NO_RULES: Final[tuple[PolicyRule, ...]] = ()


class Grant(msgspec.Struct, frozen=True):
    """Role bound to a user, and its binding."""

    #: Namespace of the binding; empty: the role applies cluster-wide.
    namespace: str
    binding: str
    role_kind: str
    role: str
    subject: Subject

    @property
    def role_key(self) -> Key | None:
        """Return the key of the role; None for an invalid kind."""
        if self.role_kind == "ClusterRole":
            return ("", self.role)
        return (self.namespace, self.role) if self.namespace and self.role_kind == "Role" else None

    @property
    def missing(self) -> str:
        """Return the error text for a missing role."""
        return f"{self.role_kind.lower()}.{GROUP} {quote(self.role)} not found"

    def __str__(self) -> str:
        """Format as the reason of a decision."""
        kind, name = ("RoleBinding", f"{self.binding}/{self.namespace}") if self.namespace else _cluster(self.binding)
        subject = self.subject
        subject_name = subject.name
        if subject.kind == "ServiceAccount":
            subject_name = f"{subject.name}/{subject.namespace or self.namespace}"
        return f"{kind} {quote(name)} of {self.role_kind} {quote(self.role)} to {subject.kind} {quote(subject_name)}"


def _cluster(name: str) -> tuple[str, str]:
    return "ClusterRoleBinding", name


class RBACIndex:
    """Index of the four RBAC kinds. ``on_change`` is called after every change.

    Invariant: ``_by_user`` and ``_by_group`` name exactly the bindings in ``_bindings`` whose subjects have that name.
    """

    def __init__(self) -> None:
        self._roles: Final[dict[Key, tuple[PolicyRule, ...]]] = {}
        self._bindings: Final[dict[Key, Binding]] = {}
        self._by_user: Final[dict[str, set[Key]]] = {}
        self._by_group: Final[dict[str, set[Key]]] = {}
        self.on_change: Callable[[], None] = _nothing

    # -- objects -------------------------------------------------------------------------------------------------------

    def put_role(self, namespace: str, name: str, raw: bytes) -> None:
        """Add or update an encoded role."""
        try:
            rules = decode_role(raw).rules or _NO_RULES
        except msgspec.DecodeError as error:
            _log.warning("role %s/%s cannot be read and grants nothing: %s", namespace, name, error)
            rules = _NO_RULES
        self._roles[namespace, name] = rules
        self.on_change()

    def remove_role(self, namespace: str, name: str) -> None:
        """Remove a role."""
        self._roles.pop((namespace, name), None)
        self.on_change()

    def put_binding(self, namespace: str, name: str, raw: bytes) -> None:
        """Add or update an encoded binding."""
        key = (namespace, name)
        self._forget(key)
        try:
            binding = decode_binding(raw)
        except msgspec.DecodeError as error:
            _log.warning("binding %s/%s cannot be read and grants nothing: %s", namespace, name, error)
        else:
            self._bindings[key] = binding
            for table, subject in self._places(key, binding):
                table.setdefault(subject, set()).add(key)
        self.on_change()

    def remove_binding(self, namespace: str, name: str) -> None:
        """Remove a binding."""
        self._forget((namespace, name))
        self.on_change()

    def clear_roles(self, *, cluster: bool) -> None:
        """Remove all ClusterRoles or all Roles, before a relist."""
        for key in [key for key in self._roles if (key[0] == "") is cluster]:
            del self._roles[key]
        self.on_change()

    def clear_bindings(self, *, cluster: bool) -> None:
        """Remove all ClusterRoleBindings or all RoleBindings, before a relist."""
        for key in [key for key in self._bindings if (key[0] == "") is cluster]:
            self._forget(key)
        self.on_change()

    def _forget(self, key: Key) -> None:
        binding = self._bindings.pop(key, None)
        if binding is None:
            return
        for table, subject in self._places(key, binding):
            keys = table.get(subject)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del table[subject]

    def _places(self, key: Key, binding: Binding) -> Iterable[tuple[dict[str, set[Key]], str]]:
        """Yield the index entries of a binding."""
        for subject in binding.subjects or ():
            if subject.kind == "Group":
                yield self._by_group, subject.name
            elif (user := _user_of(subject, key[0])) is not None:
                yield self._by_user, user

    # -- queries -------------------------------------------------------------------------------------------------------

    def grants(self, user: UserInfo) -> Mapping[str, list[Grant]]:
        """Return the grants of a user by namespace (cluster-wide: empty), one per binding, ordered by name."""
        keys = set(self._by_user.get(user.name, ()))
        for group in user.groups:
            keys |= self._by_group.get(group, set())
        grants_by_namespace: dict[str, list[Grant]] = {}
        for key in sorted(keys):
            namespace, name = key
            binding = self._bindings[key]
            subject = next(s for s in binding.subjects or () if _applies(s, namespace, user))
            grant = Grant(namespace, name, binding.role_ref.kind, binding.role_ref.name, subject)
            grants_by_namespace.setdefault(namespace, []).append(grant)
        return grants_by_namespace

    def rules(self, grant: Grant) -> tuple[PolicyRule, ...] | None:
        """Return the rules of the granted role; None if it does not exist."""
        return self.role_rules(grant.role_key)

    def role_rules(self, key: Key | None) -> tuple[PolicyRule, ...] | None:
        """Return the rules of a role; None if it does not exist."""
        return None if key is None else self._roles.get(key)


def _user_of(subject: Subject, namespace: str) -> str | None:
    """Return the user name of a subject of a binding in ``namespace``; None for groups."""
    if subject.kind == "User":
        return subject.name
    if subject.kind == "ServiceAccount" and (home := subject.namespace or namespace):
        return account_user(home, subject.name)
    return None


def _applies(subject: Subject, namespace: str, user: UserInfo) -> bool:
    if subject.kind == "Group":
        return subject.name in user.groups
    return _user_of(subject, namespace) == user.name


def _nothing() -> None:
    pass
