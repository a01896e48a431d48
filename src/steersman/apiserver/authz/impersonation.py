"""Authorization of impersonation (KEP-5284): constrained modes first, then the legacy verb ``impersonate``.

A constrained mode requires ``impersonate-on:<mode>:<verb>`` on the requested resource, and ``impersonate:<mode>`` on
the user and every other impersonated attribute. The first mode that authorizes the caller wins; otherwise the error of
the first mode is returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.domain_paths import check_domain_prefixed_path
from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.field import Path, aggregate
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
    from collections.abc import Callable

    from steersman.apiserver.authz.interface import Authorizer

_NODE_PREFIX = "system:node:"
_SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
_NODES_GROUP = "system:nodes"
_NODE_NAME_EXTRA = "authentication.kubernetes.io/node-name"
_GROUP = "authentication.k8s.io"
#: From this number of values on, a check of ``*`` precedes the checks of single values.
_MANY = 4
_EXTRA_KEY: Final = Path("extra", "key")
#: Maximum number of cached callers with their last successful mode; the cache is cleared when full.
_CALLERS_MAX = 1024


class Mode(msgspec.Struct, frozen=True):
    """Impersonation mode; the legacy mode has no name."""

    name: str
    #: (target, caller): report whether the mode applies.
    applies: Callable[[UserInfo, UserInfo], bool]

    @property
    def verb(self) -> str:
        """Return the verb required on users, groups, uids and extras."""
        return f"impersonate:{self.name}" if self.name else "impersonate"


def _associated_node(target: UserInfo, caller: UserInfo) -> bool:
    """Report whether a service account impersonates the node that its token is bound to."""
    node = node_name(target.name)
    bound = caller.extra.get(_NODE_NAME_EXTRA, ())
    return _has_only_name(target) and bool(node) and service_account(caller.name) is not None and bound == (node,)


def _arbitrary_node(target: UserInfo, caller: UserInfo) -> bool:
    del caller
    return _has_only_name(target) and bool(node_name(target.name))


def _service_account(target: UserInfo, caller: UserInfo) -> bool:
    del caller
    return _has_only_name(target) and service_account(target.name) is not None


def _user_info(target: UserInfo, caller: UserInfo) -> bool:
    del caller
    return not node_name(target.name) and service_account(target.name) is None


#: In the order of evaluation.
MODES: tuple[Mode, ...] = (
    Mode("associated-node", _associated_node),
    Mode("arbitrary-node", _arbitrary_node),
    Mode("serviceaccount", _service_account),
    Mode("user-info", _user_info),
    Mode("", lambda _requested, _caller: True),
)


class Impersonation:
    """Authorization of callers that impersonate."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        #: By caller name. As upstream, the last successful mode is tried first, so its errors are returned.
        self._last: dict[str, Mode] = {}

    def impersonate(self, caller: UserInfo, target: UserInfo, info: RequestInfo) -> UserInfo:
        """Return the impersonated user with its default groups. Raises a 403 StatusError."""
        refused: StatusError | None = None
        last = self._last.get(caller.name)
        for mode in (last, *(mode for mode in MODES if mode is not last)):
            if mode is None or not mode.applies(target, caller):
                continue
            try:
                user = self._check(mode, caller, target, info)
            except StatusError as error:
                refused = refused or error
                continue
            if len(self._last) >= _CALLERS_MAX:
                self._last.clear()
            self._last[caller.name] = mode
            return user
        raise refused or refusal(caller, info, "no way to impersonate this user")

    def constraint(self, caller: UserInfo) -> str:
        """Return the verb that last authorized ``caller``; empty for the legacy mode."""
        mode = self._last.get(caller.name)
        return mode.verb if mode is not None and mode.name else ""

    def _check(self, mode: Mode, caller: UserInfo, target: UserInfo, info: RequestInfo) -> UserInfo:
        if mode.name:
            self._authorize(caller, info.changed(verb=f"impersonate-on:{mode.name}:{info.verb}"))
        groups = self._check_name(mode, caller, target)
        if target.uid:
            self._authorize(caller, _attributes(mode.verb, _GROUP, "uids", target.uid))
        self._check_groups(mode, caller, target.groups)
        self._check_extra(mode, caller, target.extra)
        return UserInfo(target.name, _with_authentication_group(target.name, groups), target.uid, target.extra)

    def _check_name(self, mode: Mode, caller: UserInfo, target: UserInfo) -> tuple[str, ...]:
        """Authorize the user name; return the groups, which default by the kind of user."""
        group = _GROUP if mode.name else ""
        groups = target.groups
        right = _attributes(mode.verb, group, "users", target.name)
        node = node_name(target.name)
        account = service_account(target.name)
        if mode.name and node:
            groups = (_NODES_GROUP,)
            right = _attributes(mode.verb, group, "nodes", "*" if mode.name == "associated-node" else node)
        elif account is not None:
            namespace, name = account
            groups = groups or ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
            right = _attributes(mode.verb, group, "serviceaccounts", name, namespace=namespace)
        self._authorize(caller, right)
        return groups

    def _check_groups(self, mode: Mode, caller: UserInfo, groups: tuple[str, ...]) -> None:
        group = _GROUP if mode.name else ""
        if mode.name and "" in groups:
            right = _attributes(mode.verb, group, "groups", "")
            raise refusal(caller, right, "impersonating the empty string group is not allowed")
        if mode.name and MASTERS_GROUP in groups:
            right = _attributes(mode.verb, group, "groups", MASTERS_GROUP)
            raise refusal(caller, right, f"impersonating the {MASTERS_GROUP} group is not allowed")
        if mode.name and len(groups) >= _MANY and self._allowed(caller, _attributes(mode.verb, group, "groups", "*")):
            return
        for name in groups:
            self._authorize(caller, _attributes(mode.verb, group, "groups", name))

    def _check_extra(self, mode: Mode, caller: UserInfo, extra: dict[str, tuple[str, ...]]) -> None:
        if mode.name and (reason := _extra_error(extra)):
            raise refusal(caller, _attributes(mode.verb, _GROUP, "userextras", ""), reason)
        many = max(len(extra), sum(map(len, extra.values()))) >= _MANY
        if mode.name and many and self._allowed(caller, _attributes(mode.verb, _GROUP, "userextras", "*", key="*")):
            return
        for key, values in extra.items():
            for value in values:
                self._authorize(caller, _attributes(mode.verb, _GROUP, "userextras", value, key=key))

    def _allowed(self, caller: UserInfo, right: RequestInfo) -> bool:
        return self._authorizer.authorize(caller, right).allowed

    def _authorize(self, caller: UserInfo, right: RequestInfo) -> None:
        decision = self._authorizer.authorize(caller, right)
        if not decision.allowed:
            raise refusal(caller, right, decision.reason)


def node_name(user: str) -> str:
    """Return the node name of a node's user name, empty for other users."""
    name = user.removeprefix(_NODE_PREFIX)
    return name if user.startswith(_NODE_PREFIX) and not check_dns1123_subdomain(name) else ""


def service_account(user: str) -> tuple[str, str] | None:
    """Return namespace and name of a service account's user name, None for other users."""
    namespace, colon, name = user.removeprefix(_SERVICE_ACCOUNT_PREFIX).partition(":")
    if not user.startswith(_SERVICE_ACCOUNT_PREFIX) or not colon or ":" in name:
        return None
    if check_dns1123_label(namespace) or check_dns1123_subdomain(name):
        return None
    return namespace, name


def _has_only_name(user: UserInfo) -> bool:
    """Report whether only the name is impersonated."""
    return not (user.uid or user.groups or user.extra)


def _attributes(verb: str, group: str, resource: str, name: str, *, namespace: str = "", key: str = "") -> RequestInfo:
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


def _extra_error(extra: dict[str, tuple[str, ...]]) -> str:
    """Return why these extra values are not allowed in a constrained mode; empty if they are."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        faults = aggregate(check_domain_prefixed_path(key, _EXTRA_KEY))
        if faults:
            return f"impersonating an invalid key in extra is not allowed: {faults}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if not values:
            return "impersonating empty values in extra is not allowed"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _with_authentication_group(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Add ``system:authenticated`` or ``system:unauthenticated`` to the groups."""
    if name == ANONYMOUS:
        return groups if UNAUTHENTICATED_GROUP in groups else (*groups, UNAUTHENTICATED_GROUP)
    if UNAUTHENTICATED_GROUP in groups or AUTHENTICATED_GROUP in groups:
        return groups
    return (*groups, AUTHENTICATED_GROUP)
