from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, CREATED, NOW, defaulted, edited, named, pod_template

from steersman.apiserver.kinds.batch.cronjob.strategy import CronJobStrategy

STRATEGY = CronJobStrategy()
SPEC = {"schedule": "@daily", "jobTemplate": {"spec": {"template": pod_template(restartPolicy="Never")}}}
CRON = defaulted(STRATEGY, edited(named(spec=SPEC), {}))


def test_default_sets_omitted_fields():
    assert {k: v for k, v in CRON["spec"].items() if k not in SPEC} == {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }


def test_default_sets_pod_defaults_but_no_job_defaults_of_template():
    job = CRON["spec"]["jobTemplate"]["spec"]
    assert list(job) == ["template"]
    assert job["template"]["spec"]["dnsPolicy"] == "ClusterFirst"


def test_default_sets_status_of_failure_policies():
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    obj = defaulted(STRATEGY, edited(named(spec=SPEC), {"spec.jobTemplate.spec.podFailurePolicy": policy}))
    assert STRATEGY.validate(CONTEXT, obj) == []
    [rule] = obj["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert rule["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize(("old", "count"), [(None, 0), (CRON, 1)])
def test_warnings_about_time_zone_in_schedule_on_update(old, count):
    new = edited(CRON, {"spec.schedule": "TZ=UTC @daily"})
    assert len([w for w in STRATEGY.warnings(CONTEXT, new, old) if w.startswith("CRON_TZ or TZ used in")]) == count


def test_prepare_for_status_update_keeps_spec():
    new = edited(CRON, {"spec.suspend": True, "status.lastScheduleTime": CREATED})
    STRATEGY.prepare_for_status_update(CONTEXT, new, CRON)
    assert (new["spec"], new["status"]) == (CRON["spec"], {"lastScheduleTime": CREATED})


@pytest.mark.parametrize(
    ("edits", "cells"),
    [
        ({}, ["a", "@daily", "<none>", "False", 0, "<none>", "60s", "c", "i", "<none>"]),
        (
            {
                "spec.timeZone": "UTC",
                "spec.suspend": True,
                "status.active": [{}, {}],
                "status.lastScheduleTime": "2026-01-01T00:00:30Z",
            },
            ["a", "@daily", "UTC", "True", 2, "30s", "60s", "c", "i", "<none>"],
        ),
    ],
)
def test_cells_show_schedule(edits, cells):
    assert STRATEGY.cells(edited(CRON, edits), NOW) == cells
