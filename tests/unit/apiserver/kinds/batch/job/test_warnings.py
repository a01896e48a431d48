from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, named, pod_template

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.batch.job.warnings import job_warnings

SPEC = {
    "completionMode": "Indexed",
    "completions": 100_001,
    "parallelism": 10_001,
    "template": pod_template(nodeSelector={"beta.kubernetes.io/os": "linux"}),
}
HUGE = "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
TEMPLATE = "spec.template.spec.nodeSelector[beta.kubernetes.io/os]: "


def starts(warnings, *expected):
    return [warning.startswith(start) for warning, start in zip(warnings, expected, strict=True)]


def test_job_warnings_on_create_cover_name_indexes_and_template():
    result = job_warnings(named("a.b"), None, SPEC, Path("spec"))
    assert all(starts(result, "metadata.name: this is used in Pod names", HUGE, TEMPLATE))


def test_job_warnings_on_update_cover_spec_when_generation_changes():
    old, new = (edited(named(), {"metadata.generation": generation}) for generation in (1, 2))
    assert all(starts(job_warnings(new, old, SPEC, Path("spec")), HUGE, TEMPLATE))
    assert list(job_warnings(old, old, SPEC, Path("spec"))) == []


@pytest.mark.parametrize("edits", [{"completionMode": "NonIndexed"}, {"completions": 100_000}, {"parallelism": 10_000}])
def test_job_warnings_is_empty_for_few_indexes(edits):
    result = job_warnings(named(), None, {**SPEC, **edits}, Path("spec"))
    assert all(starts(result, TEMPLATE))


def test_job_warnings_use_path_of_cron_job_template():
    path = Path("spec", "jobTemplate", "spec")
    assert all(
        starts(job_warnings(named(), None, SPEC, path), f"spec.jobTemplate.{HUGE}", f"spec.jobTemplate.{TEMPLATE}")
    )
