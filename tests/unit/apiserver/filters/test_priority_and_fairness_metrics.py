"""Metrics of priority and fairness."""

from steersman.apiserver.filters.priority_and_fairness_metrics import FlowControlMetrics
from steersman.apiserver.flowcontrol.control import FlowControl

EXEMPT = {"metadata": {"name": "exempt"}, "spec": {"type": "Exempt"}}
WORK = {"metadata": {"name": "work"}, "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 3}}}
SCHEMA = {"metadata": {"name": "mine"}, "spec": {"priorityLevelConfiguration": {"name": "work"}}}


async def test_collector_returns_upstream_metrics():
    control = FlowControl(seats=600, mandatory_schemas=[SCHEMA], mandatory_levels=[EXEMPT, WORK])
    control.configure((), (), now=0.0)
    counts = control.counts["mine", "work"]
    counts.dispatched = 2
    counts.reject("time-out")
    counts.waited_seconds.observe(0)
    counts.waited_in_vain_seconds.observe(20)
    control.adjust(10.0)
    families = {family.name: family for family in await FlowControlMetrics(control).collect()}
    level, flow = (("priority_level", "work"),), (("flow_schema", "mine"), ("priority_level", "work"))
    assert families["apiserver_flowcontrol_nominal_limit_seats"].samples == [("", level, 600)]
    assert families["apiserver_flowcontrol_dispatched_requests_total"].samples == [("", flow, 2)]
    assert families["apiserver_flowcontrol_rejected_requests_total"].samples == [
        ("", (*flow, ("reason", "time-out")), 1)
    ]
    waits = families["apiserver_flowcontrol_request_wait_duration_seconds"].samples
    totals = {dict(labels)["execute"]: value for suffix, labels, value in waits if suffix == "_count"}
    assert totals == {"true": 1, "false": 1}
    assert ("_bucket", (*flow, ("execute", "false"), ("le", "15")), 0) in waits
    assert ("_bucket", (*flow, ("execute", "false"), ("le", "30")), 1) in waits
