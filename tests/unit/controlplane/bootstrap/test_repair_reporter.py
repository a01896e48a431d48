"""Findings in logs, events and metrics."""

import logging

from steersman.controlplane.bootstrap.findings import Fault, Finding
from steersman.controlplane.bootstrap.repair_reporter import Reporter

SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "n", "name": "a"}}


def finding(number=1):
    return Finding(fault=Fault.LEAK, about=SERVICE, reason="R", action="A", note=f"note {number}")


class Recorder:
    def __init__(self):
        self.recorded = []

    def event(self, *recorded):
        self.recorded.append(recorded)


def test_findings_of_the_start_become_events_later(caplog):
    reporter, recorder = Reporter("apiserver_x_repair_y", "things"), Recorder()
    with caplog.at_level(logging.WARNING):
        reporter.report([finding(1)])
    assert "n/a: note 1" in caplog.text
    reporter.begin(recorder)
    reporter.report([finding(2)])
    assert [recorded[-1] for recorded in recorder.recorded] == ["note 1", "note 2"]
    assert recorder.recorded[0][:4] == (SERVICE, "Warning", "R", "A")


def test_not_more_wait_than_one_would_read():
    reporter, recorder = Reporter("apiserver_x_repair_y", "things"), Recorder()
    reporter.report(finding(number) for number in range(1000))
    reporter.begin(recorder)
    assert len(recorder.recorded) == 100


async def test_metrics_have_upstreams_names():
    reporter = Reporter("apiserver_clusterip_repair_ip", "cluster IPs")
    reporter.report([finding(), finding()])
    reporter.failed()
    faults, failures = await reporter.collect()
    assert (faults.name, faults.samples) == (
        "apiserver_clusterip_repair_ip_errors_total",
        [("", (("type", "leak"),), 2)],
    )
    assert (failures.name, failures.samples) == ("apiserver_clusterip_repair_reconcile_errors_total", [("", (), 1)])
