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
    flow_control = FlowControl(
        seats=600, mandatory_schemas=named(FLOW_SCHEMAS), mandatory_levels=named(PRIORITY_LEVELS)
    )
    flow_control.configure(
        flow_schemas() if schemas is None else schemas, priority_levels() if levels is None else levels, now=0.0
    )
    return flow_control


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
    flow_control = control(named({"b": spec, "a": spec}))
    assert flow_control.classify(UserInfo("alice", (EVERYBODY,)), PODS).schema.name == "a"


def test_dangling_schema_is_ignored():
    rules = FLOW_SCHEMAS["catch-all"]["rules"]
    spec = {"matchingPrecedence": 7, "priorityLevelConfiguration": {"name": "later"}, "rules": rules}
    alice = UserInfo("alice", (EVERYBODY,))
    flow_control = control(named({"a": spec}), [])
    assert flow_control.classify(alice, PODS).schema.name == "catch-all"
    flow_control.configure(named({"a": spec}), named({"later": {"type": "Limited"}}), now=1.0)
    assert flow_control.classify(alice, PODS).schema.name == "a"


def test_mandatory_objects_apply_without_stored_ones():
    flow_control = control([], [])
    assert sorted(flow_control.levels) == ["catch-all", "exempt"]
    assert flow_control.levels["catch-all"].limit == 600


def test_headers_have_the_uids_of_schema_and_level():
    flow = control([], []).classify(UserInfo("alice", (EVERYBODY,)), PODS)
    assert flow.headers == [
        (b"x-kubernetes-pf-flowschema-uid", b"uid-catch-all"),
        (b"x-kubernetes-pf-prioritylevel-uid", b"uid-catch-all"),
    ]


def test_running_requests_and_counters_survive_reconfiguration():
    flow_control = control()
    alice = UserInfo("alice", (EVERYBODY,))
    before = flow_control.classify(alice, PODS)
    before.level.begin(3, 0.0)
    before.counts.dispatched = 5
    flow_control.configure(flow_schemas(), priority_levels(), now=1.0)
    after = flow_control.classify(alice, PODS)
    assert (after.level.in_use, after.counts.dispatched) == (3, 5)


def test_removed_level_is_quiescing_until_it_is_idle():
    flow_control = control()
    default = flow_control.levels["global-default"]
    default.begin(1, 0.0)
    shared = flow_control.levels["system"].limits
    left = [tree for tree in priority_levels() if tree["metadata"]["name"] not in ("global-default", "node-high")]
    flow_control.configure(flow_schemas(), left, now=1.0)
    assert "node-high" not in flow_control.levels
    assert flow_control.levels["global-default"] is default
    assert default.is_quiescing
    assert flow_control.classify(UserInfo("alice", (EVERYBODY,)), PODS).schema.name == "catch-all"
    default.finish(1, 2.0)
    flow_control.adjust(10.0)
    assert "global-default" not in flow_control.levels
    assert flow_control.levels["system"].limits.nominal > shared.nominal


def test_recreated_level_is_not_quiescing():
    flow_control = control()
    default = flow_control.levels["global-default"]
    default.begin(1, 0.0)
    flow_control.configure((), (), now=1.0)
    flow_control.configure(flow_schemas(), priority_levels(), now=2.0)
    assert flow_control.levels["global-default"] is default
    assert not default.is_quiescing


def test_seats_of_the_suggested_levels_equal_upstreams():
    limits = {name: level.limits for name, level in control().levels.items()}
    assert (limits["workload-low"].nominal, limits["workload-low"].lower) == (245, 25)
    assert (limits["system"].nominal, limits["system"].lower) == (74, 50)


def test_busy_levels_borrow_from_idle_ones_and_give_back():
    flow_control = control()
    low, leader = flow_control.levels["workload-low"], flow_control.levels["leader-election"]
    default = flow_control.levels["global-default"]
    default.begin(default.limit, 0.0)
    flow_control.adjust(10.0)
    assert default.limit > default.limits.nominal
    assert low.limit < low.limits.nominal
    assert leader.limit >= leader.limits.lower == leader.limits.nominal
    assert sum(level.limit for level in flow_control.levels.values()) <= 600 + len(flow_control.levels)
    default.finish(default.in_use, 10.0)
    low.begin(245, 10.0)
    flow_control.adjust(20.0)
    assert low.limit >= low.limits.nominal


def test_memoized_users_are_bounded():
    flow_control = control()
    for number in range(5000):
        flow_control.classify(UserInfo(f"user-{number}", (EVERYBODY,)), PODS)
    assert len(flow_control._candidates) <= 4096
