from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, GONE, defaulted, edited, named, pod_template, texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.batch.job.strategy import JobStrategy
from steersman.apiserver.kinds.batch.job.validation import validate_job, validate_job_template, validate_job_update


def job(**spec: object) -> dict:
    new = defaulted(JobStrategy(), named(spec={"template": pod_template(restartPolicy="Never"), **spec}))
    JobStrategy().prepare_for_create(CONTEXT, new)
    return new


VALID = job()
INDEXED = job(completionMode="Indexed", completions=3, parallelism=3)
HUGE = {"spec.completions": 100_001, "spec.backoffLimitPerIndex": 1}
LABELS = "spec.template.metadata.labels"
NEGATIVE = "Invalid value: -1: must be greater than or equal to 0"
MANY = "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index"


@pytest.mark.parametrize("valid", [VALID, INDEXED, job(manualSelector=True, selector={"matchLabels": {"app": "a"}})])
def test_validate_job_accepts_defaulted_objects(valid):
    assert texts(validate_job(valid)) == []


@pytest.mark.parametrize(
    "name", ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]
)
def test_validate_job_rejects_negative_counts(name):
    assert texts(validate_job(edited(VALID, {f"spec.{name}": -1}))) == [f"spec.{name}: {NEGATIVE}"]


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {"spec.maxFailedIndexes": 1, "spec.backoffLimitPerIndex": GONE},
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
        ),
        (
            {"spec.managedBy": "mine"},
            'spec.managedBy: Invalid value: "mine": must be a domain-prefixed path (such as "acme.io/foo")',
        ),
        (
            {"spec.managedBy": "example.com/" + "a" * 52},
            "spec.managedBy: Too long: may not be more than 63 bytes",
        ),
        (
            {"spec.completionMode": "Other"},
            'spec.completionMode: Unsupported value: "Other": supported values: "NonIndexed", "Indexed"',
        ),
        ({"spec.completions": GONE}, "spec.completions: Required value: when completion mode is Indexed"),
        (
            {"spec.parallelism": 100_001},
            "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed",
        ),
        (
            {"spec.maxFailedIndexes": 4, "spec.backoffLimitPerIndex": 1},
            "spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions",
        ),
        (HUGE, "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"),
        (HUGE | {"spec.maxFailedIndexes": 10_001}, f"spec.maxFailedIndexes: Invalid value: 10001: {MANY}"),
        (
            HUGE | {"spec.maxFailedIndexes": 1, "spec.parallelism": 10_001},
            f"spec.parallelism: Invalid value: 10001: {MANY}",
        ),
        (
            {"metadata.name": "a" * 62},
            f'metadata.name: Invalid value: "{"a" * 62}": will not able to create pod with invalid DNS label: {"a" * 62}-2',
        ),
        (
            {"spec.podReplacementPolicy": "Other"},
            'spec.podReplacementPolicy: Unsupported value: "Other": supported values: "Failed", "TerminatingOrFailed"',
        ),
        (
            {"spec.template.spec.restartPolicy": "Always"},
            'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
        ),
        ({"spec.template.spec.containers": []}, "spec.template.spec.containers: Required value"),
    ],
)
def test_validate_job_rejects_invalid_fields_of_indexed_jobs(edits, fault):
    assert fault in texts(validate_job(edited(INDEXED, edits)))


@pytest.mark.parametrize("name", ["backoffLimitPerIndex", "maxFailedIndexes"])
def test_validate_job_requires_indexed_mode_for_index_limits(name):
    limits = {"spec.backoffLimitPerIndex": 1, "spec.maxFailedIndexes": 1}
    faults = texts(validate_job(edited(VALID, limits)))
    assert f"spec.{name}: Invalid value: 1: requires indexed completion mode" in faults


def test_validate_job_requires_indexed_mode_for_success_policy():
    policy = {"rules": [{"succeededCount": 1}]}
    assert texts(validate_job(edited(VALID, {"spec.successPolicy": policy}))) == [
        'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode'
    ]


def test_validate_job_requires_restart_policy_never_for_failure_policy():
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "A", "status": "True"}]}]}
    new = edited(job(podFailurePolicy=policy), {"spec.template.spec.restartPolicy": "OnFailure"})
    assert texts(validate_job(new)) == [
        (
            'spec.template.spec.restartPolicy: Invalid value: "OnFailure": '
            'only "Never" is supported when podFailurePolicy is specified'
        )
    ]


def test_validate_job_rejects_wrong_values_of_generated_labels():
    labels = {"z": "1", **VALID["spec"]["template"]["metadata"]["labels"], "job-name": "other"}
    assert texts(validate_job(edited(VALID, {LABELS: labels}))) == [
        (
            f'{LABELS}[job-name]: Invalid value: {{"app":"a","batch.kubernetes.io/controller-uid":"u",'
            '"batch.kubernetes.io/job-name":"a","controller-uid":"u","job-name":"other","z":"1"}: must be \'a\''
        )
    ]


def test_validate_job_rejects_given_selector_without_manual_selector():
    brought = edited(VALID, {"spec.selector.matchLabels": {"app": "a"}, "spec.manualSelector": GONE})
    assert texts(validate_job(edited(brought, {"spec.selector.matchLabels": {"app": "b"}}))) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: `selector` not auto-generated',
        (
            f'{LABELS}: Invalid value: {{"app":"a","batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"a",'
            '"controller-uid":"u","job-name":"a"}: `selector` does not match template `labels`'
        ),
    ]


@pytest.mark.parametrize(
    "edits",
    [
        {"spec.parallelism": 5},
        {"spec.suspend": True},
        {"spec.activeDeadlineSeconds": 5},
        {"spec.backoffLimit": 5},
        {"spec.ttlSecondsAfterFinished": 5},
    ],
)
def test_validate_job_update_accepts_mutable_fields(edits):
    assert texts(validate_job_update(edited(VALID, edits), VALID)) == []


@pytest.mark.parametrize(
    ("edits", "path"),
    [
        ({"spec.completions": 2}, "spec.completions"),
        ({"spec.template.spec.containers.0.image": "j"}, "spec.template"),
        ({"spec.managedBy": "example.com/x"}, "spec.managedBy"),
        ({"spec.completionMode": "Indexed"}, "spec.completionMode"),
    ],
)
def test_validate_job_update_rejects_immutable_fields(edits, path):
    faults = texts(validate_job_update(edited(VALID, edits), VALID))
    assert [f for f in faults if f.startswith(f"{path}: Invalid value: ") and f.endswith(": field is immutable")]


def test_validate_job_update_shows_changed_selector_in_order():
    faults = texts(
        validate_job_update(edited(VALID, {"spec.selector.matchLabels": {"job-name": "a", "app": "a"}}), VALID)
    )
    assert faults[-1] == (
        'spec.selector: Invalid value: {"matchLabels":{"app":"a","job-name":"a"}}: field is immutable'
    )


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({"spec.completions": 5, "spec.parallelism": 5}, []),
        (
            {"spec.completions": 5},
            ["spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism"],
        ),
    ],
)
def test_validate_job_update_requires_equal_completions_and_parallelism(edits, faults):
    assert texts(validate_job_update(edited(INDEXED, edits), INDEXED)) == faults


RESHAPED = {
    "spec.template.spec.nodeSelector": {"disk": "ssd"},
    "spec.template.spec.tolerations": [{"key": "a", "operator": "Exists"}],
    "spec.template.spec.containers.0.resources": {"requests": {"cpu": "1"}},
}


@pytest.mark.parametrize(
    "edits",
    [
        {"spec.suspend": True},
        {
            "spec.suspend": True,
            "status.startTime": "2026-01-01T00:00:00Z",
            "status.conditions": [{"type": "Suspended", "status": "True"}],
        },
    ],
)
def test_validate_job_update_accepts_scheduling_changes_of_suspended_job(edits):
    old = edited(VALID, edits)
    assert texts(validate_job_update(edited(old, RESHAPED), old)) == []


@pytest.mark.parametrize(
    "edits",
    [
        {"spec.suspend": False},
        {"spec.suspend": True, "status.startTime": "2026-01-01T00:00:00Z"},
        {
            "spec.suspend": True,
            "status.startTime": "2026-01-01T00:00:00Z",
            "status.active": 1,
            "status.conditions": [{"type": "Suspended", "status": "True"}],
        },
    ],
)
def test_validate_job_update_rejects_template_changes_of_active_job(edits):
    old = edited(VALID, edits)
    [fault] = texts(validate_job_update(edited(old, RESHAPED), old))
    assert fault.startswith("spec.template: Invalid value: ")


def test_validate_job_update_reports_spec_errors_twice():
    faults = texts(validate_job_update(edited(VALID, {"spec.parallelism": -1}), VALID))
    assert faults == [f"spec.parallelism: {NEGATIVE}"] * 2


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"selector": {}}, "job.spec.selector: Invalid value: {}: `selector` will be auto-generated"),
        (
            {"selector": {"matchLabels": {"b": "2", "a": "1"}}},
            'job.spec.selector: Invalid value: {"matchLabels":{"a":"1","b":"2"}}: `selector` will be auto-generated',
        ),
        (
            {"manualSelector": True},
            'job.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
        ),
    ],
)
def test_validate_job_template_rejects_selector(spec, fault):
    template = {"spec": {"template": VALID["spec"]["template"], **spec}}
    assert texts(validate_job_template(template, Path("job"))) == [fault]
