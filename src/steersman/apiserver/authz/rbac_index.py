"""Roles and bindings in memory, found by whom they are for. Fed object by object, so that nothing is ever scanned."""

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

#: Namespace and name; cluster-wide objects have no namespace.
Key = tuple[str, str]
_NO_RULES: Final[tuple[PolicyRule, ...]] = ()


class Grant(msgspec.Struct, frozen=True):
    """That a user holds a role, and through what."""

    #: Of the binding; where there is none the role holds everywhere.
    namespace: str
    binding: str
    role_kind: str
    role: str
    subject: Subject

    @property
    def role_key(self) -> Key | None:
        """Where the role is; None when there cannot be one."""
        if self.role_kind == "ClusterRole":
            return ("", self.role)
        return (self.namespace, self.role) if self.namespace and self.role_kind == "Role" else None

    @property
    def missing(self) -> str:
        """What is said when the role is not there."""
        return f"{self.role_kind.lower()}.{GROUP} {quote(self.role)} not found"

    def __str__(self) -> str:
        """As the reason of an answer names it."""
        kind, name = ("RoleBinding", f"{self.binding}/{self.namespace}") if self.namespace else _cluster(self.binding)
        subject = self.subject
        who = subject.name
        if subject.kind == "ServiceAccount":
            who = f"{subject.name}/{subject.namespace or self.namespace}"
        return f"{kind} {quote(name)} of {self.role_kind} {quote(self.role)} to {subject.kind} {quote(who)}"


def _cluster(name: str) -> tuple[str, str]:
    return "ClusterRoleBinding", name


class RBACIndex:
    """The four kinds of objects. ``on_change`` is called after every change of theirs.

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
        """A role, encoded, is new or has changed."""
        try:
            rules = decode_role(raw).rules or _NO_RULES
        except msgspec.DecodeError as error:
            _log.warning("role %s/%s cannot be read and grants nothing: %s", namespace, name, error)
            rules = _NO_RULES
        self._roles[namespace, name] = rules
        self.on_change()

    def remove_role(self, namespace: str, name: str) -> None:
        """A role has gone."""
        self._roles.pop((namespace, name), None)
        self.on_change()

    def put_binding(self, namespace: str, name: str, raw: bytes) -> None:
        """A binding, encoded, is new or has changed."""
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
        """A binding has gone."""
        self._forget((namespace, name))
        self.on_change()

    def clear_roles(self, *, cluster: bool) -> None:
        """Forget all ClusterRoles or all Roles: they are about to be told anew."""
        for key in [key for key in self._roles if (key[0] == "") is cluster]:
            del self._roles[key]
        self.on_change()

    def clear_bindings(self, *, cluster: bool) -> None:
        """Forget all ClusterRoleBindings or all RoleBindings."""
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
        """Where the index names a binding."""
        for subject in binding.subjects or ():
            if subject.kind == "Group":
                yield self._by_group, subject.name
            elif (user := _user_of(subject, key[0])) is not None:
                yield self._by_user, user

    # -- questions -----------------------------------------------------------------------------------------------------

    def grants(self, user: UserInfo) -> Mapping[str, list[Grant]]:
        """What a user holds, by namespace (everywhere: the empty one), each binding once, in order of names."""
        keys = set(self._by_user.get(user.name, ()))
        for group in user.groups:
            keys |= self._by_group.get(group, set())
        held: dict[str, list[Grant]] = {}
        for key in sorted(keys):
            namespace, name = key
            binding = self._bindings[key]
            subject = next(s for s in binding.subjects or () if _applies(s, namespace, user))
            grant = Grant(namespace, name, binding.role_ref.kind, binding.role_ref.name, subject)
            held.setdefault(namespace, []).append(grant)
        return held

    def rules(self, grant: Grant) -> tuple[PolicyRule, ...] | None:
        """The rules of what is granted; None when there is no such role."""
        return self.role_rules(grant.role_key)

    def role_rules(self, key: Key | None) -> tuple[PolicyRule, ...] | None:
        """The rules of a role; None when there is none."""
        return None if key is None else self._roles.get(key)


def _user_of(subject: Subject, namespace: str) -> str | None:
    """The user that a subject of a binding in ``namespace`` names; None when it names none."""
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
