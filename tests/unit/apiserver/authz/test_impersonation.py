"""Authorization of impersonation."""

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.authz.impersonation import Impersonation
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION, Decision
from steersman.apiserver.authz.modes import AlwaysAllow
from steersman.apiserver.request import RequestInfo, UserInfo

CALLER = UserInfo("caller", ("system:authenticated",))
ROBOT = "system:serviceaccount:prod:robot"
LIST = RequestInfo("list", "/api/v1/namespaces/a/configmaps", True, "", "v1", "a", "configmaps")


class Rights:
    """Authorizer that allows exactly the given verb, resource (with subresource) and name."""

    def __init__(self, *rights: tuple[str, str, str]) -> None:
        self.rights = set(rights)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        del user
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        return ALLOW if (info.verb, resource, info.name) in self.rights else NO_OPINION


def refused(rights: Rights, target: UserInfo) -> str:
    with pytest.raises(StatusError) as error:
        Impersonation(rights).impersonate(CALLER, target, LIST)
    assert error.value.code == 403
    return error.value.message


@pytest.mark.parametrize(
    ("target", "groups"),
    [
        (UserInfo("bob"), ("system:authenticated",)),
        (UserInfo("bob", ("devs",)), ("devs", "system:authenticated")),
        (UserInfo("bob", ("system:authenticated", "devs")), ("system:authenticated", "devs")),
        (UserInfo("bob", ("system:unauthenticated",)), ("system:unauthenticated",)),
        (UserInfo("bob", ("system:masters",)), ("system:masters", "system:authenticated")),
        (UserInfo("system:anonymous"), ("system:unauthenticated",)),
        (
            UserInfo(ROBOT),
            ("system:serviceaccounts", "system:serviceaccounts:prod", "system:authenticated"),
        ),
        (UserInfo(ROBOT, ("devs",)), ("devs", "system:authenticated")),
        (UserInfo("system:node:n1"), ("system:nodes", "system:authenticated")),
    ],
)
def test_impersonate_adds_default_groups(target, groups):
    user = Impersonation(AlwaysAllow()).impersonate(CALLER, target, LIST)
    assert (user.name, user.groups) == (target.name, groups)


def test_impersonate_reports_first_constrained_mode_without_permissions():
    assert refused(Rights(), UserInfo("bob")) == (
        'configmaps is forbidden: User "caller" cannot impersonate-on:user-info:list resource "configmaps"'
        ' in API group "" in the namespace "a"'
    )


def test_impersonate_requires_permission_on_user_too():
    rights = Rights(("impersonate-on:user-info:list", "configmaps", ""))
    assert refused(rights, UserInfo("bob")) == (
        'users.authentication.k8s.io "bob" is forbidden: User "caller" cannot impersonate:user-info'
        ' resource "users" in API group "authentication.k8s.io" at the cluster scope'
    )


def test_impersonate_requires_permissions_on_groups():
    rights = Rights(
        ("impersonate-on:user-info:list", "configmaps", ""),
        ("impersonate:user-info", "users", "bob"),
        ("impersonate:user-info", "groups", "devs"),
        ("impersonate:user-info", "userextras/example.com/team", "blue"),
    )
    target = UserInfo("bob", ("devs",), extra={"example.com/team": ("blue",)})
    assert Impersonation(rights).impersonate(CALLER, target, LIST).groups == ("devs", "system:authenticated")
    assert '"groups" in API group' in refused(rights, UserInfo("bob", ("ops",)))
    assert refused(rights, UserInfo("bob", extra={"team": ("blue",)})).endswith(
        ": impersonating an invalid key in extra is not allowed: "
        'extra.key: Invalid value: "team": must be a domain-prefixed path (such as "acme.io/foo")'
    )


def test_constrained_modes_reject_system_masters():
    rights = Rights(
        ("impersonate-on:user-info:list", "configmaps", ""),
        ("impersonate:user-info", "users", "bob"),
        ("impersonate:user-info", "groups", "system:masters"),
    )
    assert refused(rights, UserInfo("bob", ("system:masters",))).endswith(
        "impersonating the system:masters group is not allowed"
    )


def test_many_groups_are_authorized_by_wildcard():
    rights = Rights(
        ("impersonate-on:user-info:list", "configmaps", ""),
        ("impersonate:user-info", "users", "bob"),
        ("impersonate:user-info", "groups", "*"),
    )
    Impersonation(rights).impersonate(CALLER, UserInfo("bob", ("a", "b", "c", "d")), LIST)
    assert "groups" in refused(rights, UserInfo("bob", ("a", "b", "c")))


def test_legacy_permission_is_reported_in_legacy_words():
    rights = Rights(("impersonate", "users", "bob"))
    impersonation = Impersonation(rights)
    impersonation.impersonate(CALLER, UserInfo("bob"), LIST)
    with pytest.raises(StatusError) as error:
        impersonation.impersonate(CALLER, UserInfo("carol"), LIST)
    assert error.value.message == (
        'users "carol" is forbidden: User "caller" cannot impersonate resource "users" in API group ""'
        " at the cluster scope"
    )


def test_service_account_is_authorized_in_its_namespace():
    rights = Rights(("impersonate-on:serviceaccount:list", "configmaps", ""))
    assert 'resource "serviceaccounts" in API group "authentication.k8s.io" in the namespace "prod"' in refused(
        rights, UserInfo(ROBOT)
    )


def test_service_account_impersonates_associated_node():
    caller = UserInfo(ROBOT, extra={"authentication.kubernetes.io/node-name": ("n1",)})
    rights = Rights(
        ("impersonate-on:associated-node:list", "configmaps", ""), ("impersonate:associated-node", "nodes", "*")
    )
    user = Impersonation(rights).impersonate(caller, UserInfo("system:node:n1"), LIST)
    assert user.groups == ("system:nodes", "system:authenticated")
    with pytest.raises(StatusError):
        Impersonation(rights).impersonate(caller, UserInfo("system:node:n2"), LIST)
