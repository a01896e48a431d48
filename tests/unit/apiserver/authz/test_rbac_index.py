"""Index of roles and bindings by subject."""

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.authz.rbac_index import RBACIndex
from steersman.apiserver.request import UserInfo

from .rules import account, bind, group, role, rule, user

NAMES = st.sampled_from(["a", "b", "c"])
SUBJECTS = st.lists(st.one_of(st.builds(user, NAMES), st.builds(group, NAMES)), max_size=3)


def held(index: RBACIndex, name: str, *groups: str) -> list[str]:
    return [str(grant) for grants in index.grants(UserInfo(name, groups)).values() for grant in grants]


def test_grants_by_user_group_and_service_account():
    index = RBACIndex()
    bind(index, "u", user("alice"))
    bind(index, "g", group("devs"))
    bind(index, "s", account("robot"), namespace="ns")
    assert held(index, "alice") == ['ClusterRoleBinding "u" of ClusterRole "u" to User "alice"']
    assert held(index, "bob", "ops", "devs") == ['ClusterRoleBinding "g" of ClusterRole "g" to Group "devs"']
    assert held(index, "system:serviceaccount:ns:robot") == [
        'RoleBinding "s/ns" of Role "s" to ServiceAccount "robot/ns"'
    ]
    assert held(index, "devs") == []


def test_service_account_without_namespace_is_ignored_in_cluster_role_binding():
    index = RBACIndex()
    bind(index, "s", account("robot"))
    assert held(index, "system:serviceaccount::robot") == []


def test_grant_is_listed_once_with_first_matching_subject():
    index = RBACIndex()
    bind(index, "x", group("devs"), user("alice"))
    assert held(index, "alice", "devs") == ['ClusterRoleBinding "x" of ClusterRole "x" to Group "devs"']


def test_put_binding_removes_subjects_of_old_binding():
    index = RBACIndex()
    bind(index, "x", user("alice"))
    bind(index, "x", user("bob"))
    assert (held(index, "alice"), len(held(index, "bob"))) == ([], 1)
    index.remove_binding("", "x")
    assert held(index, "bob") == []


def test_grant_reports_missing_role():
    index = RBACIndex()
    bind(index, "x", user("alice"), namespace="ns", kind="ClusterRole")
    bind(index, "y", user("alice"), kind="Role")
    [clusterwide], [within] = (index.grants(UserInfo("alice"))[ns] for ns in ("", "ns"))
    assert within.missing == 'clusterrole.rbac.authorization.k8s.io "x" not found'
    assert index.rules(within) is None
    assert (clusterwide.role_key, index.rules(clusterwide)) == (None, None)
    role(index, "x", rule("get", "pods"))
    assert len(index.rules(within)) == 1


def test_put_ignores_malformed_objects(caplog):
    index = RBACIndex()
    index.put_role("", "x", b'{"rules":7}')
    index.put_binding("", "x", b'{"subjects":[1]}')
    assert index.role_rules(("", "x")) == ()
    assert len(caplog.records) == 2


def test_clear_removes_all_objects_of_a_kind():
    index = RBACIndex()
    for namespace in ("", "ns"):
        bind(index, "x", user("alice"), namespace=namespace)
        role(index, "x", namespace=namespace)
    index.clear_bindings(cluster=True)
    index.clear_roles(cluster=False)
    assert list(index.grants(UserInfo("alice"))) == ["ns"]
    assert index.role_rules(("", "x")) == ()
    assert index.role_rules(("ns", "x")) is None


@given(st.lists(st.tuples(NAMES, st.one_of(st.none(), SUBJECTS)), max_size=12))
def test_index_has_stored_bindings_only(steps):
    index, model = RBACIndex(), {}
    for name, subjects in steps:
        if subjects is None:
            index.remove_binding("", name)
            model.pop(name, None)
        else:
            bind(index, name, *subjects)
            model[name] = subjects
    for name in "abc":
        expected = sorted(b for b, subjects in model.items() if user(name) in subjects or group("g") in subjects)
        bindings = [grant.binding for grant in index.grants(UserInfo(name, ("g",))).get("", [])]
        assert bindings == expected
    assert set().union(*index._by_user.values(), *index._by_group.values()) == {("", b) for b in model if model[b]}
