"""Who may act as whom (KEP-5284): the constrained modes first, then the verb ``impersonate`` of old.

A mode is a kind of user with rights of its own. In a constrained mode the caller needs ``impersonate-on:<mode>:<verb>``
on what the request is about, and ``impersonate:<mode>`` on the user and on everything given beside the name. The first
mode that lets the caller through counts; when none does, the first refusal is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.names import check_dns1123_label, check_dns1123_subdomain
from steersman.apiserver.authn.interface import (
    ANONYMOUS,
    AUTHENTICATED_GROUP,
    MASTERS_GROUP,
    UNAUTHENTICATED_GROUP,
)
from steersman.apiserver.authz.interface import refusal
from steersman.apiserver.request import RequestInfo, UserInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apiserver.authz.interface import Authorizer

_NODE_PREFIX = "system:node:"
_SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
_NODES_GROUP = "system:nodes"
_NODE_NAME_EXTRA = "authentication.kubernetes.io/node-name"
_GROUP = "authentication.k8s.io"
#: From so many values on, one check for ``*`` is tried before one check a value.
_MANY = 4
#: Bound of the table of callers and the mode that last let them through; it is emptied when full.
_CALLERS_MAX = 1024


class Mode(msgspec.Struct, frozen=True):
    """One kind of impersonation; without a name the one of old."""

    name: str
    #: (wanted, caller): whether this mode is for such a user at all.
    applies: Callable[[UserInfo, UserInfo], bool]

    @property
    def verb(self) -> str:
        """The right needed on users, groups, uids and extras."""
        return f"impersonate:{self.name}" if self.name else "impersonate"


def _associated_node(wanted: UserInfo, caller: UserInfo) -> bool:
    """A service account acting as the node that its token is bound to."""
    node = node_name(wanted.name)
    bound = caller.extra.get(_NODE_NAME_EXTRA, ())
    return _bare(wanted) and bool(node) and service_account(caller.name) is not None and bound == (node,)


def _arbitrary_node(wanted: UserInfo, caller: UserInfo) -> bool:
    del caller
    return _bare(wanted) and bool(node_name(wanted.name))


def _service_account(wanted: UserInfo, caller: UserInfo) -> bool:
    del caller
    return _bare(wanted) and service_account(wanted.name) is not None


def _user_info(wanted: UserInfo, caller: UserInfo) -> bool:
    del caller
    return not node_name(wanted.name) and service_account(wanted.name) is None


#: In the order in which they are tried.
MODES: tuple[Mode, ...] = (
    Mode("associated-node", _associated_node),
    Mode("arbitrary-node", _arbitrary_node),
    Mode("serviceaccount", _service_account),
    Mode("user-info", _user_info),
    Mode("", lambda _wanted, _caller: True),
)


class Impersonation:
    """Decides whether a caller becomes the user it wants to be."""

    def __init__(self, authorizer: Authorizer, *, modes: Sequence[Mode] = MODES) -> None:
        self._authorizer = authorizer
        self._modes = modes
        #: By the caller's name: the mode that worked last is tried first, so its refusals are the ones told.
        self._last: dict[str, Mode] = {}

    def impersonate(self, caller: UserInfo, wanted: UserInfo, info: RequestInfo) -> UserInfo:
        """The user to go on as, with the groups that come with it. Raises a 403 StatusError."""
        refused: StatusError | None = None
        last = self._last.get(caller.name)
        for mode in (last, *(mode for mode in self._modes if mode is not last)):
            if mode is None or not mode.applies(wanted, caller):
                continue
            try:
                user = self._check(mode, caller, wanted, info)
            except StatusError as error:
                refused = refused or error
                continue
            if len(self._last) >= _CALLERS_MAX:
                self._last.clear()
            self._last[caller.name] = mode
            return user
        raise refused or refusal(caller, info, "no way to impersonate this user")

    def constraint(self, caller: UserInfo) -> str:
        """The verb by which ``impersonate`` has let ``caller`` through just now; empty for the one of old."""
        mode = self._last.get(caller.name)
        return mode.verb if mode is not None and mode.name else ""

    def _check(self, mode: Mode, caller: UserInfo, wanted: UserInfo, info: RequestInfo) -> UserInfo:
        if mode.name:
            self._authorize(caller, info.changed(verb=f"impersonate-on:{mode.name}:{info.verb}"))
        groups = self._check_name(mode, caller, wanted)
        if wanted.uid:
            self._authorize(caller, _right(mode.verb, _GROUP, "uids", wanted.uid))
        self._check_groups(mode, caller, wanted.groups)
        self._check_extra(mode, caller, wanted.extra)
        return UserInfo(wanted.name, _completed(wanted.name, groups), wanted.uid, wanted.extra)

    def _check_name(self, mode: Mode, caller: UserInfo, wanted: UserInfo) -> tuple[str, ...]:
        """Groups that the user gets, those of its kind when none are given."""
        group = _GROUP if mode.name else ""
        groups = wanted.groups
        right = _right(mode.verb, group, "users", wanted.name)
        node = node_name(wanted.name)
        account = service_account(wanted.name)
        if mode.name and node:
            groups = (_NODES_GROUP,)
            right = _right(mode.verb, group, "nodes", "*" if mode.name == "associated-node" else node)
        elif account is not None:
            namespace, name = account
            groups = groups or ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
            right = _right(mode.verb, group, "serviceaccounts", name, namespace=namespace)
        self._authorize(caller, right)
        return groups

    def _check_groups(self, mode: Mode, caller: UserInfo, groups: tuple[str, ...]) -> None:
        group = _GROUP if mode.name else ""
        if mode.name and "" in groups:
            right = _right(mode.verb, group, "groups", "")
            raise refusal(caller, right, "impersonating the empty string group is not allowed")
        if mode.name and MASTERS_GROUP in groups:
            right = _right(mode.verb, group, "groups", MASTERS_GROUP)
            raise refusal(caller, right, f"impersonating the {MASTERS_GROUP} group is not allowed")
        if mode.name and len(groups) >= _MANY and self._allowed(caller, _right(mode.verb, group, "groups", "*")):
            return
        for name in groups:
            self._authorize(caller, _right(mode.verb, group, "groups", name))

    def _check_extra(self, mode: Mode, caller: UserInfo, extra: dict[str, tuple[str, ...]]) -> None:
        if mode.name and (why := _bad_extra(extra)):
            raise refusal(caller, _right(mode.verb, _GROUP, "userextras", ""), why)
        many = max(len(extra), sum(map(len, extra.values()))) >= _MANY
        if mode.name and many and self._allowed(caller, _right(mode.verb, _GROUP, "userextras", "*", key="*")):
            return
        for key, values in extra.items():
            for value in values:
                self._authorize(caller, _right(mode.verb, _GROUP, "userextras", value, key=key))

    def _allowed(self, caller: UserInfo, right: RequestInfo) -> bool:
        return self._authorizer.authorize(caller, right).allowed

    def _authorize(self, caller: UserInfo, right: RequestInfo) -> None:
        decision = self._authorizer.authorize(caller, right)
        if not decision.allowed:
            raise refusal(caller, right, decision.reason)


def node_name(user: str) -> str:
    """The node of a node's user name, empty for others."""
    name = user.removeprefix(_NODE_PREFIX)
    return name if user.startswith(_NODE_PREFIX) and not check_dns1123_subdomain(name) else ""


def service_account(user: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name, None for others."""
    namespace, colon, name = user.removeprefix(_SERVICE_ACCOUNT_PREFIX).partition(":")
    if not user.startswith(_SERVICE_ACCOUNT_PREFIX) or not colon or ":" in name:
        return None
    if check_dns1123_label(namespace) or check_dns1123_subdomain(name):
        return None
    return namespace, name


def _bare(user: UserInfo) -> bool:
    """Whether nothing but the name is given."""
    return not (user.uid or user.groups or user.extra)


def _right(verb: str, group: str, resource: str, name: str, *, namespace: str = "", key: str = "") -> RequestInfo:
    return RequestInfo(
        verb,
        "",
        True,
        group,
        "v1",
        namespace=namespace,
        resource=resource,
        name=name,
        subresource=key,
    )


def _bad_extra(extra: dict[str, tuple[str, ...]]) -> str:
    """Why such extra values may not be given in a constrained mode; empty when they may."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        domain, slash, path = key.partition("/")
        if not slash or not path or check_dns1123_subdomain(domain):
            return f"impersonating an invalid key in extra is not allowed: {quote(key)} is not <domain>/<path>"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if not values:
            return "impersonating empty values in extra is not allowed"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """With the group that tells the known from the unknown."""
    if name == ANONYMOUS:
        return groups if UNAUTHENTICATED_GROUP in groups else (*groups, UNAUTHENTICATED_GROUP)
    if UNAUTHENTICATED_GROUP in groups or AUTHENTICATED_GROUP in groups:
        return groups
    return (*groups, AUTHENTICATED_GROUP)
