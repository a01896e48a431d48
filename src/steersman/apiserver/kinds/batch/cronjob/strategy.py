"""Strategy of CronJobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.batch.cronjob.validation import validate_cron_job, validate_cron_job_update
from steersman.apiserver.kinds.batch.job.strategy import default_pod_failure_policy
from steersman.apiserver.kinds.batch.job.warnings import job_warnings
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod_template

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


_JOB: Final = Path("spec", "jobTemplate", "spec")
_ZONE_IN_SCHEDULE: Final = (
    "CRON_TZ or TZ used in spec.spec.schedule is not officially supported, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class CronJobStrategy(Strategy):
    """Strategy of CronJobs. The job template gets defaults of Pods and failure policies; those of Jobs apply when a Job is created."""

    group_resource = "cronjobs.batch"
    has_generation = True
    metadata_checks_on_status_update = (0, 0)
    columns = (
        columns.NAME_COLUMN,
        Column("Schedule", field="batch.v1.CronJobSpec.schedule"),
        Column("Timezone", field="batch.v1.CronJobSpec.timeZone"),
        Column("Suspend", type="boolean", field="batch.v1.CronJobSpec.suspend"),
        Column("Active", type="integer", field="batch.v1.CronJobStatus.active"),
        Column("Last Schedule", field="batch.v1.CronJobStatus.lastScheduleTime"),
        columns.AGE_COLUMN,
        Column("Containers", priority=1, description=columns.CONTAINERS_TEXT),
        Column("Images", priority=1, description=columns.IMAGES_TEXT),
        Column("Selector", priority=1, field="batch.v1.JobSpec.selector"),
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        job = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
        default_pod_template(job.setdefault("template", {}))
        default_pod_failure_policy(job)
        if not spec.get("concurrencyPolicy"):
            spec["concurrencyPolicy"] = "Allow"
        if spec.get("suspend") is None:
            spec["suspend"] = False
        if spec.get("successfulJobsHistoryLimit") is None:
            spec["successfulJobsHistoryLimit"] = 3
        if spec.get("failedJobsHistoryLimit") is None:
            spec["failedJobsHistoryLimit"] = 1

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_cron_job(obj, facts_for=ctx.facts_for))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_cron_job_update(obj, old, facts_for=ctx.facts_for))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        spec = obj["spec"]
        warnings = list(
            job_warnings(obj, old, (spec.get("jobTemplate") or {}).get("spec") or {}, _JOB, facts_for=ctx.facts_for)
        )
        if old is not None and "TZ" in (spec.get("schedule") or ""):
            warnings.append(_ZONE_IN_SCHEDULE)
        return warnings

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        job = (spec.get("jobTemplate") or {}).get("spec") or {}
        template = (job.get("template") or {}).get("spec")
        last = status.get("lastScheduleTime")
        return [
            columns.name_of(obj),
            spec.get("schedule", ""),
            spec.get("timeZone") or columns.NONE,
            "True" if spec.get("suspend") else "False",
            len(status.get("active") or ()),
            columns.since(last, now) if last else columns.NONE,
            columns.age(obj, now),
            columns.container_names(template),
            columns.container_images(template),
            columns.selector_text(job.get("selector")),
        ]
