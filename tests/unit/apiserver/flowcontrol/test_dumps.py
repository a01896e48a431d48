"""Dumps of priority levels, queues and requests."""

from datetime import UTC, datetime

from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.flowcontrol.control import FlowControl, FlowRequest
from steersman.apiserver.flowcontrol.dumps import Instant, dump_priority_levels, dump_queues, dump_requests
from steersman.apiserver.flowcontrol.levels import Waiting
from steersman.apiserver.kinds.flowcontrol.shared.mandatory import FLOW_SCHEMAS, PRIORITY_LEVELS
from steersman.apiserver.request import UserInfo

NOW = Instant(datetime(2024, 1, 1, 0, 0, 10, tzinfo=UTC), 110.0)
QUEUING = {"queues": 2, "handSize": 1, "queueLengthLimit": 10}
WORK = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Queue", "queuing": QUEUING}},
}
SCHEMA = {
    "matchingPrecedence": 500,
    "priorityLevelConfiguration": {"name": "work"},
    "distinguisherMethod": {"type": "ByUser"},
    "rules": FLOW_SCHEMAS["catch-all"]["rules"],
}
ALICE = UserInfo("alice", ("system:authenticated",))
DEPLOYMENT = parse("GET", "/apis/apps/v1/namespaces/a/deployments/d/scale")


def named(specs: dict) -> list[dict]:
    return [{"metadata": {"name": name}, "spec": spec} for name, spec in specs.items()]


def busy_control() -> FlowControl:
    """Return one request that executes and, in queue 1, one that waits."""
    control = FlowControl(seats=1, mandatory_schemas=named(FLOW_SCHEMAS), mandatory_levels=named(PRIORITY_LEVELS))
    control.configure(named({"mine": SCHEMA}), named({"work": WORK}), now=100.0)
    flow = control.classify(ALICE, DEPLOYMENT)
    flow.level.begin(1, 101.0)
    control.executing["first"] = FlowRequest(flow, ALICE, DEPLOYMENT, 1, 101.0, 101.0, None)
    flow.counts.executing = 1
    waiting = Waiting(2, 102.5, lambda: None)
    flow.level.enqueue(1, waiting, flow.counts)
    control.waiting[waiting] = FlowRequest(flow, ALICE, DEPLOYMENT, 2, 102.5, None, waiting)
    flow.counts.dispatched = 7
    flow.counts.rejected.update({"queue-full": 1, "concurrency-limit": 2, "time-out": 4, "cancelled": 5})
    return control


def test_dump_priority_levels_has_aligned_row_for_each_level():
    assert dump_priority_levels(busy_control()) == (
        "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, "
        "DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests\n"
        "catch-all,         0,            true,   false,       0,               0,                 "
        "0,                  0,                0,                0\n"
        "exempt,            0,            true,   false,       0,               0,                 "
        "0,                  0,                0,                0\n"
        "work,              1,            false,  false,       1,               1,                 "
        "8,                  3,                4,                5\n"
    )


def test_dumps_list_removed_levels_with_requests_as_quiescing():
    control = busy_control()
    control.configure((), (), now=103.0)
    row = dump_priority_levels(control).splitlines()[-1].replace(" ", "").split(",")
    assert row[:6] == ["work", "1", "false", "true", "1", "1"]
    assert "work" in dump_requests(control, NOW, with_details=False)


def test_dump_queues_has_row_for_each_queue():
    assert dump_queues(busy_control()) == (
        "PriorityLevelName, Index,  PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, "
        "InitialSeatsSum, MaxSeatsSum, TotalWorkSum\n"
        "work,              0,      0,               0,                 0,          0.00000000ss,  "
        "0,               0,           0.00000000ss\n"
        "work,              1,      1,               0,                 0,          0.00000000ss,  "
        "2,               2,           0.00600000ss\n"
    )


def test_dump_queues_counts_executing_requests_that_were_queued():
    control = busy_control()
    level = control.levels["work"]
    [waiting] = control.waiting
    level.finish(1, 103.0)
    assert waiting.dispatched
    del control.waiting[waiting], control.executing["first"]
    flow = control.classify(ALICE, DEPLOYMENT)
    control.executing["second"] = FlowRequest(flow, ALICE, DEPLOYMENT, 2, 102.5, 103.0, waiting)
    cells = [cell.strip() for cell in dump_queues(control).splitlines()[2].split(",")]
    assert cells[:5] == ["work", "1", "0", "1", "2"]
    line = dump_requests(control, NOW, with_details=False).splitlines()[1]
    assert [cell.strip() for cell in line.split(",")][2:4] == ["1", "-1"]


def test_dump_requests_lists_waiting_requests_before_those_that_were_not_queued():
    lines = dump_requests(busy_control(), NOW, with_details=False).splitlines()
    assert [[cell.strip() for cell in line.split(",")] for line in lines] == [
        ["PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime",
         "InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime"],
        ["work", "mine", "1", "0", "alice", "2024-01-01T00:00:02.5Z", "2", "0", "0s", "0001-01-01T00:00:00Z"],
        ["work", "mine", "-1", "-1", "alice", "2024-01-01T00:00:01Z", "1", "0", "0s", "2024-01-01T00:00:01Z"],
    ]  # fmt: skip


def test_dump_requests_with_details_adds_user_and_request_info():
    lines = dump_requests(busy_control(), NOW, with_details=True).splitlines()
    assert [[cell.strip() for cell in line.split(",")[10:]] for line in lines[:2]] == [
        ["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"],
        ["alice", "get", DEPLOYMENT.path, "a", "d", "apps/v1", "deployments", "scale"],
    ]
