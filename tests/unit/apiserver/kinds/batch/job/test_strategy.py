from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, CREATED, NOW, defaulted, edited, named, pod_template

from steersman.apiserver.kinds.batch.job.strategy import JobStrategy

STRATEGY = JobStrategy()


def job(**spec: object) -> dict:
    return defaulted(STRATEGY, named(spec={"template": pod_template(restartPolicy="Never"), **spec}))


def test_default_sets_omitted_fields():
    assert {k: v for k, v in job()["spec"].items() if k != "template"} == {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }


def test_default_sets_no_completions_of_work_queue():
    spec = job(parallelism=3)["spec"]
    assert (spec["parallelism"], spec.get("completions")) == (3, None)


def test_default_sets_parallelism_1_with_completions():
    assert job(completions=3)["spec"]["parallelism"] == 1


def test_default_sets_max_backoff_limit_with_backoff_limit_per_index():
    assert job(backoffLimitPerIndex=1)["spec"]["backoffLimit"] == 2**31 - 1


def test_default_sets_pod_replacement_policy_failed_with_failure_policy():
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    spec = job(podFailurePolicy={"rules": [rule]})["spec"]
    assert spec["podReplacementPolicy"] == "Failed"
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


def test_canonicalize_copies_template_labels():
    assert job()["metadata"]["labels"] == {"app": "a"}


def test_canonicalize_keeps_labels_of_job():
    tree = {"metadata": {"labels": {"own": "1"}}, "spec": {"template": pod_template()}}
    assert defaulted(STRATEGY, tree)["metadata"]["labels"] == {"own": "1"}


def test_prepare_for_create_generates_selector_from_uid():
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


def test_prepare_for_create_keeps_manual_selector():
    new = job(manualSelector=True, selector={"matchLabels": {"app": "a"}})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["spec"]["selector"] == {"matchLabels": {"app": "a"}}
    assert new["spec"]["template"]["metadata"]["labels"] == {"app": "a"}


def test_generate_selector_keeps_given_labels():
    new = edited(job(), {"spec.template.metadata.labels": {"job-name": "other"}})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["spec"]["template"]["metadata"]["labels"]["job-name"] == "other"


def test_default_propagation_orphans_pods():
    assert STRATEGY.default_propagation == "orphan"


@pytest.mark.parametrize(("status", "text"), [({}, "0"), ({"succeeded": 3}, "3")])
def test_field_labels_select_by_successes(status, text):
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
def test_cells_show_most_significant_condition(conditions, shown):
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
def test_cells_show_completions(spec, shown):
    assert STRATEGY.cells({**job(**spec), "status": {"succeeded": 1}}, NOW)[2] == shown


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({}, ""),
        ({"startTime": CREATED}, "60s"),
        ({"startTime": CREATED, "completionTime": "2026-01-01T00:00:05Z"}, "5s"),
    ],
)
def test_cells_show_duration(status, shown):
    assert STRATEGY.cells({**job(), "status": status}, NOW)[3] == shown
