from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import defaulted, edited, named, pod_template, texts

from steersman.apiserver.kinds.batch.cronjob.strategy import CronJobStrategy
from steersman.apiserver.kinds.batch.cronjob.validation import validate_cron_job, validate_cron_job_update

SPEC = {"schedule": "@daily", "jobTemplate": {"spec": {"template": pod_template(restartPolicy="Never")}}}
VALID = defaulted(CronJobStrategy(), named(spec=SPEC))
ZONED = edited(VALID, {"spec.schedule": "TZ=UTC @daily"})
NO_ZONE_HERE = (
    'spec.schedule: Invalid value: "TZ=UTC @daily": cannot use TZ or CRON_TZ in schedule, use timeZone field instead'
)


def test_validate_cron_job_accepts_defaulted_object():
    assert texts(validate_cron_job(VALID)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.schedule": ""}, "spec.schedule: Required value"),
        (
            {"spec.schedule": "* * *"},
            'spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]',
        ),
        (
            {"spec.startingDeadlineSeconds": -1},
            "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"spec.concurrencyPolicy": "Other"},
            'spec.concurrencyPolicy: Unsupported value: "Other": supported values: "Allow", "Forbid", "Replace"',
        ),
        ({"spec.concurrencyPolicy": ""}, "spec.concurrencyPolicy: Required value"),
        ({"spec.timeZone": ""}, 'spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'),
        ({"spec.timeZone": "Mars/Base"}, 'spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base'),
        ({"spec.timeZone": "../UTC"}, 'spec.timeZone: Invalid value: "../UTC": unknown time zone ../UTC'),
        (
            {"spec.timeZone": "Local"},
            (
                'spec.timeZone: Invalid value: "Local": '
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
            ),
        ),
        (
            {"spec.failedJobsHistoryLimit": -1},
            "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"spec.jobTemplate.spec.parallelism": -1},
            "spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"metadata.name": "a" * 53},
            f'metadata.name: Invalid value: "{"a" * 53}": must be no more than 52 characters',
        ),
        ({"spec.schedule": "TZ=UTC @daily"}, NO_ZONE_HERE),
    ],
)
def test_validate_cron_job_rejects_invalid_fields(edits, fault):
    assert texts(validate_cron_job(edited(VALID, edits))) == [fault]


def test_validate_cron_job_update_accepts_existing_long_name():
    long = edited(VALID, {"metadata.name": "a" * 53})
    assert texts(validate_cron_job_update(long, long)) == []


def test_validate_cron_job_update_rejects_added_time_zone_in_schedule():
    assert texts(validate_cron_job_update(ZONED, VALID)) == [NO_ZONE_HERE]


def test_validate_cron_job_update_accepts_unchanged_time_zone_in_schedule():
    assert texts(validate_cron_job_update(ZONED, ZONED)) == []
    assert texts(validate_cron_job_update(edited(ZONED, {"spec.timeZone": "UTC"}), ZONED)) == [
        'spec.schedule: Invalid value: "TZ=UTC @daily": cannot use both timeZone field and TZ or CRON_TZ in schedule'
    ]


def test_validate_cron_job_update_accepts_unchanged_unknown_time_zone():
    old = edited(VALID, {"spec.timeZone": "Mars/Base"})
    assert texts(validate_cron_job_update(old, old)) == []
