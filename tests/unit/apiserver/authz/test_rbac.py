"""Decisions by roles and bindings."""

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.authz.policy import PolicyRule
from steersman.apiserver.authz.rbac import RBAC
from steersman.apiserver.authz.rbac_index import RBACIndex
from steersman.apiserver.request import RequestInfo, UserInfo

from .rules import bind, group, role, rule, user

ALICE = UserInfo("alice", ("devs", "system:authenticated"))


def ask(verb, resource, *, namespace="ns", name="", sub="", api_group=""):
    return RequestInfo(verb, "", True, api_group, "v1", namespace, resource, name, sub)


def setup() -> tuple[RBACIndex, RBAC]:
    index = RBACIndex()
    return index, RBAC(index)


def test_role_applies_in_its_namespace_only():
    index, rbac = setup()
    role(index, "r", rule("get", "pods"), namespace="ns")
    bind(index, "r", user("alice"), namespace="ns")
    decision = rbac.authorize(ALICE, ask("get", "pods"))
    assert decision.allowed
    assert decision.reason == 'RBAC: allowed by RoleBinding "r/ns" of Role "r" to User "alice"'
    for other in (ask("get", "pods", namespace="x"), ask("get", "pods", namespace=""), ask("list", "pods")):
        assert not rbac.authorize(ALICE, other).allowed
    assert rbac.authorize(ALICE, ask("list", "pods")).reason == ""


def test_cluster_wide_grants_precede_namespaced_ones():
    index, rbac = setup()
    role(index, "c", rule("get", "pods nodes"))
    bind(index, "c", group("devs"))
    bind(index, "a", user("alice"), namespace="ns", kind="ClusterRole", to="c")
    reason = 'RBAC: allowed by ClusterRoleBinding "c" of ClusterRole "c" to Group "devs"'
    assert rbac.authorize(ALICE, ask("get", "pods")).reason == reason
    assert rbac.authorize(ALICE, ask("get", "nodes", namespace="")).allowed


def test_resource_names_limit_rule():
    index, rbac = setup()
    role(index, "r", rule("get list", "pods", names="a b"))
    bind(index, "r", user("alice"))
    assert rbac.authorize(ALICE, ask("get", "pods", name="a")).allowed
    assert rbac.authorize(ALICE, ask("get", "pods", name="b")).allowed
    assert not rbac.authorize(ALICE, ask("get", "pods", name="c")).allowed
    assert not rbac.authorize(ALICE, ask("list", "pods")).allowed
    role(index, "all", rule("get", "pods"))
    bind(index, "z", user("alice"), to="all")
    assert rbac.authorize(ALICE, ask("get", "pods", name="c")).reason.startswith(
        'RBAC: allowed by ClusterRoleBinding "z"'
    )
    assert rbac.authorize(ALICE, ask("get", "pods", name="a")).reason.startswith(
        'RBAC: allowed by ClusterRoleBinding "r"'
    )


def test_paths_are_granted_by_cluster_role_bindings_only():
    index, rbac = setup()
    role(index, "p", {"verbs": ["get"], "nonResourceURLs": ["/livez/*"]})
    bind(index, "p", user("alice"), namespace="ns", kind="ClusterRole")
    assert not rbac.authorize(ALICE, RequestInfo("get", "/livez/ping")).allowed
    bind(index, "p", user("alice"))
    assert rbac.authorize(ALICE, RequestInfo("get", "/livez/ping")).allowed
    assert not rbac.authorize(ALICE, RequestInfo("post", "/livez/ping")).allowed


def test_missing_roles_are_reported_once_each():
    index, rbac = setup()
    bind(index, "a", user("alice"), to="gone")
    assert rbac.authorize(ALICE, ask("get", "pods")).reason == (
        'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )
    bind(index, "b", user("alice"), to="gone")
    bind(index, "c", user("alice"), namespace="ns", to="lost")
    assert rbac.authorize(ALICE, ask("get", "pods")).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found,'
        ' role.rbac.authorization.k8s.io "lost" not found]'
    )
    assert rbac.rules_for(ALICE, "").error == 'clusterrole.rbac.authorization.k8s.io "gone" not found'


def test_decision_follows_every_change():
    index, rbac = setup()
    pods = ask("get", "pods")
    steps = []
    for change in (
        lambda: bind(index, "r", user("alice")),
        lambda: role(index, "r", rule("get", "pods")),
        lambda: index.remove_role("", "r"),
        lambda: role(index, "r", rule("get", "pods")),
        lambda: index.remove_binding("", "r"),
    ):
        change()
        steps.append(rbac.authorize(ALICE, pods).allowed)
    assert steps == [False, True, False, True, False]


def test_rules_for_lists_held_rules():
    index, rbac = setup()
    role(index, "c", rule("get", "nodes"))
    role(index, "r", rule("list", "pods"), namespace="ns")
    bind(index, "c", user("alice"))
    bind(index, "r", user("alice"), namespace="ns")
    assert [r.resources for r in rbac.rules_for(ALICE, "ns").rules] == [("nodes",), ("pods",)]
    assert [r.resources for r in rbac.rules_for(ALICE, "x").rules] == [("nodes",)]
    assert rbac.role_rules("Role", "ns", "r") == (PolicyRule(verbs=("list",), api_groups=("",), resources=("pods",)),)
    assert rbac.role_rules("ClusterRole", "ns", "r") is None


WORDS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2, unique=True).map(" ".join)
NAMES = st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True).map(" ".join)
RULES = st.builds(lambda v, r, n: rule(v, r, names=n), WORDS, WORDS, NAMES)


@given(
    st.dictionaries(st.sampled_from(["p", "q"]), st.lists(RULES, max_size=3)),
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from(["", "x", "y"])), min_size=1),
)
def test_cached_decisions_equal_scan_of_all_rules(roles, questions):
    index, rbac = setup()
    for name, rules in roles.items():
        role(index, name, *rules)
        bind(index, name, user("alice"))

    def scan(verb: str, resource: str, name: str) -> bool:
        return any(
            not {verb, "*"}.isdisjoint(r["verbs"])
            and not {resource, "*"}.isdisjoint(r["resources"])
            and (not r["resourceNames"] or name in r["resourceNames"])
            for rules in roles.values()
            for r in rules
        )

    for verb, resource, name in questions * 2:
        assert rbac.authorize(ALICE, ask(verb, resource, name=name)).allowed is scan(verb, resource, name)
