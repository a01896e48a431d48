from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, CREATED, NOW, defaulted, edited, named, pod_template

from steersman.apiserver.kinds.batch.job.strategy import JobStrategy

STRATEGY = JobStrategy()


def job(**spec: object) -> dict:
    return defaulted(STRATEGY, named(spec={"template": pod_template(restartPolicy="Never"), **spec}))


def test_what_is_left_out_is_filled_in():
    assert {k: v for k, v in job()["spec"].items() if k != "template"} == {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }


def test_a_work_queue_has_no_completions():
    spec = job(parallelism=3)["spec"]
    assert (spec["parallelism"], spec.get("completions")) == (3, None)


def test_completions_run_one_at_a_time():
    assert job(completions=3)["spec"]["parallelism"] == 1


def test_retries_are_unlimited_where_they_are_limited_for_each_index():
    assert job(backoffLimitPerIndex=1)["spec"]["backoffLimit"] == 2**31 - 1


def test_a_failure_policy_replaces_failed_pods_only():
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    spec = job(podFailurePolicy={"rules": [rule]})["spec"]
    assert spec["podReplacementPolicy"] == "Failed"
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


def test_the_job_shows_the_labels_of_its_template():
    assert job()["metadata"]["labels"] == {"app": "a"}


def test_labels_of_its_own_stay():
    tree = {"metadata": {"labels": {"own": "1"}}, "spec": {"template": pod_template()}}
    assert defaulted(STRATEGY, tree)["metadata"]["labels"] == {"own": "1"}


def test_a_new_job_selects_its_pods_by_its_uid():
    new = job()
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert new["spec"]["template"]["metadata"]["labels"] == {
        "app": "a",
        "job-name": "a",
        "batch.kubernetes.io/job-name": "a",
        "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u",
    }


def test_a_manual_selector_is_left_alone():
    new = job(manualSelector=True, selector={"matchLabels": {"app": "a"}})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["spec"]["selector"] == {"matchLabels": {"app": "a"}}
    assert new["spec"]["template"]["metadata"]["labels"] == {"app": "a"}


def test_labels_that_the_client_gave_stay_for_validation_to_refuse():
    new = edited(job(), {"spec.template.metadata.labels": {"job-name": "other"}})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["spec"]["template"]["metadata"]["labels"]["job-name"] == "other"


def test_pods_outlive_a_deleted_job_unless_a_policy_says_otherwise():
    assert STRATEGY.default_propagation == "orphan"


@pytest.mark.parametrize(("status", "text"), [({}, "0"), ({"succeeded": 3}, "3")])
def test_jobs_are_selected_by_their_successes(status, text):
    assert STRATEGY.field_labels["status.successful"]({"status": status}) == text


@pytest.mark.parametrize(
    ("conditions", "shown"),
    [
        (["Complete", "SuccessCriteriaMet"], "Complete"),
        (["FailureTarget", "Failed"], "Failed"),
        (["Suspended"], "Suspended"),
        (["FailureTarget"], "FailureTarget"),
        (["SuccessCriteriaMet"], "SuccessCriteriaMet"),
        ([], "Running"),
    ],
)
def test_the_row_shows_the_most_telling_condition(conditions, shown):
    status = {"conditions": [{"type": type_, "status": "True"} for type_ in conditions]}
    assert STRATEGY.cells({**job(), "status": status}, NOW)[1] == shown


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"completions": 3}, "1/3"),
        ({"parallelism": 3}, "1/1 of 3"),
        ({"parallelism": 1}, "1/1"),
    ],
)
def test_the_row_shows_what_is_done_of_what_is_wanted(spec, shown):
    assert STRATEGY.cells({**job(**spec), "status": {"succeeded": 1}}, NOW)[2] == shown


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({}, ""),
        ({"startTime": CREATED}, "60s"),
        ({"startTime": CREATED, "completionTime": "2026-01-01T00:00:05Z"}, "5s"),
    ],
)
def test_the_row_shows_how_long_it_took(status, shown):
    assert STRATEGY.cells({**job(), "status": status}, NOW)[3] == shown
