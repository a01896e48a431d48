"""Classification of requests, and seats of priority levels."""

import pytest

from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.flowcontrol.control import FlowControl
from steersman.apiserver.kinds.flowcontrol.shared.mandatory import FLOW_SCHEMAS, PRIORITY_LEVELS
from steersman.apiserver.request import UserInfo
from steersman.controlplane.bootstrap.flow_control import flow_schemas, priority_levels

PODS = parse("GET", "/api/v1/namespaces/a/pods")
EVERYBODY = "system:authenticated"


def named(specs: dict) -> list[dict]:
    return [{"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec} for name, spec in specs.items()]


def control(schemas=None, levels=None) -> FlowControl:
    made = FlowControl(seats=600, mandatory_schemas=named(FLOW_SCHEMAS), mandatory_levels=named(PRIORITY_LEVELS))
    made.configure(
        flow_schemas() if schemas is None else schemas, priority_levels() if levels is None else levels, now=0.0
    )
    return made


@pytest.mark.parametrize(
    ("user", "path", "schema"),
    [
        (UserInfo("admin", ("system:masters", EVERYBODY)), "/api/v1/pods", "exempt"),
        (UserInfo("alice", (EVERYBODY,)), "/healthz", "probes"),
        (UserInfo("alice", (EVERYBODY,)), "/api/v1/pods", "global-default"),
        (UserInfo("system:anonymous", ("system:unauthenticated",)), "/version", "global-default"),
        (UserInfo("system:node:n", ("system:nodes", EVERYBODY)), "/api/v1/nodes/n/status", "system-node-high"),
        (UserInfo("system:node:n", ("system:nodes", EVERYBODY)), "/api/v1/pods", "system-nodes"),
        (UserInfo("system:kube-scheduler", (EVERYBODY,)), "/api/v1/pods", "kube-scheduler"),
        (
            UserInfo("system:serviceaccount:a:b", ("system:serviceaccounts", EVERYBODY)),
            "/api/v1/pods",
            "service-accounts",
        ),
        (UserInfo("nobody"), "/api/v1/pods", "catch-all"),
    ],
)
def test_requests_are_classified_by_the_suggested_schemas(user, path, schema):
    assert control().classify(user, parse("GET", path)).schema.name == schema


def test_schemas_of_equal_precedence_match_by_name():
    rules = FLOW_SCHEMAS["catch-all"]["rules"]
    spec = {"matchingPrecedence": 7, "priorityLevelConfiguration": {"name": "exempt"}, "rules": rules}
    made = control(named({"b": spec, "a": spec}))
    assert made.classify(UserInfo("alice", (EVERYBODY,)), PODS).schema.name == "a"


def test_dangling_schema_is_ignored():
    rules = FLOW_SCHEMAS["catch-all"]["rules"]
    spec = {"matchingPrecedence": 7, "priorityLevelConfiguration": {"name": "later"}, "rules": rules}
    alice = UserInfo("alice", (EVERYBODY,))
    made = control(named({"a": spec}), [])
    assert made.classify(alice, PODS).schema.name == "catch-all"
    made.configure(named({"a": spec}), named({"later": {"type": "Limited"}}), now=1.0)
    assert made.classify(alice, PODS).schema.name == "a"


def test_mandatory_objects_apply_without_stored_ones():
    made = control([], [])
    assert sorted(made.levels) == ["catch-all", "exempt"]
    assert made.levels["catch-all"].limit == 600


def test_headers_have_the_uids_of_schema_and_level():
    flow = control([], []).classify(UserInfo("alice", (EVERYBODY,)), PODS)
    assert flow.headers == [
        (b"x-kubernetes-pf-flowschema-uid", b"uid-catch-all"),
        (b"x-kubernetes-pf-prioritylevel-uid", b"uid-catch-all"),
    ]


def test_running_requests_and_counters_survive_reconfiguration():
    made = control()
    alice = UserInfo("alice", (EVERYBODY,))
    before = made.classify(alice, PODS)
    before.level.begin(3, 0.0)
    before.counts.dispatched = 5
    made.configure(flow_schemas(), priority_levels(), now=1.0)
    after = made.classify(alice, PODS)
    assert (after.level.in_use, after.counts.dispatched) == (3, 5)


def test_seats_of_the_suggested_levels_equal_upstreams():
    limits = {name: level.limits for name, level in control().levels.items()}
    assert (limits["workload-low"].nominal, limits["workload-low"].lower) == (245, 25)
    assert (limits["system"].nominal, limits["system"].lower) == (74, 50)


def test_busy_levels_borrow_from_idle_ones_and_give_back():
    made = control()
    low, leader = made.levels["workload-low"], made.levels["leader-election"]
    default = made.levels["global-default"]
    default.begin(default.limit, 0.0)
    made.adjust(10.0)
    assert default.limit > default.limits.nominal
    assert low.limit < low.limits.nominal
    assert leader.limit >= leader.limits.lower == leader.limits.nominal
    assert sum(level.limit for level in made.levels.values()) <= 600 + len(made.levels)
    default.finish(default.in_use, 10.0)
    low.begin(245, 10.0)
    made.adjust(20.0)
    assert low.limit >= low.limits.nominal


def test_memoized_users_are_bounded():
    made = control()
    for number in range(5000):
        made.classify(UserInfo(f"user-{number}", (EVERYBODY,)), PODS)
    assert len(made._candidates) <= 4096
