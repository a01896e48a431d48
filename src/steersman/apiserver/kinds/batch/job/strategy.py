"""Strategy of Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.batch.job.status_validation import validate_job_status
from steersman.apiserver.kinds.batch.job.validation import (
    NAME_LABELS,
    UID_LABELS,
    validate_job,
    validate_job_update,
)
from steersman.apiserver.kinds.batch.job.warnings import job_warnings
from steersman.apiserver.kinds.shared.conditions import has_condition
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod_template

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_INT32_MAX: Final = 2**31 - 1
_SPEC: Final = Path("spec")


class JobStrategy(Strategy):
    """Strategy of Jobs. The server generates the selector from the UID unless ``manualSelector`` is true."""

    group_resource = "jobs.batch"
    has_generation = True
    default_propagation = "orphan"
    metadata_checks_on_update = (1, 1)
    delete_warning = (
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set"
        " propagationPolicy=Orphan to suppress this warning"
    )
    columns = (
        columns.NAME_COLUMN,
        Column("Status", description="Status of the job."),
        Column("Completions", field="batch.v1.JobStatus.succeeded"),
        Column("Duration", description="Time required to complete the job."),
        columns.AGE_COLUMN,
        Column("Containers", priority=1, description=columns.CONTAINERS_TEXT),
        Column("Images", priority=1, description=columns.IMAGES_TEXT),
        Column("Selector", priority=1, field="batch.v1.JobSpec.selector"),
    )
    field_labels = {"status.successful": lambda obj: str((obj.get("status") or {}).get("succeeded", 0))}
    unknown_field_label = "field label {quoted} not supported for batchv1.Job"

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        template = spec.setdefault("template", {})
        default_pod_template(template)
        default_job_spec(spec)
        metadata = obj.setdefault("metadata", {})
        labels = (template.get("metadata") or {}).get("labels")
        if labels and not metadata.get("labels"):
            # shared dict: labels that generate_selector adds to the template appear in the Job's own, as upstream
            metadata["labels"] = labels

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        super().prepare_for_create(ctx, obj)
        if not obj["spec"].get("manualSelector"):
            generate_selector(obj)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_job(obj, facts_for=ctx.facts_for))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_job_update(obj, old, facts_for=ctx.facts_for))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_job_status(obj, old))

    def canonicalize(self, obj: Tree) -> None:
        """Default the Job's labels to those of its template."""
        labels = (obj["spec"]["template"].get("metadata") or {}).get("labels")
        if labels and not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj["spec"]
        template = (spec.get("template") or {}).get("spec")
        return [
            columns.name_of(obj),
            _status(obj),
            _completions(obj),
            _duration(obj, now),
            columns.age(obj, now),
            columns.container_names(template),
            columns.container_images(template),
            columns.selector_text(spec.get("selector")),
        ]

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(job_warnings(obj, old, obj["spec"], _SPEC, facts_for=ctx.facts_for))


def default_job_spec(spec: Tree) -> None:
    """Default the counts and policies of a Job; ``completions`` default to 1 only if ``parallelism`` is unset too."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else _INT32_MAX
    if spec.get("completionMode") is None:
        spec["completionMode"] = "NonIndexed"
    if spec.get("suspend") is None:
        spec["suspend"] = False
    if spec.get("manualSelector") is None:
        spec["manualSelector"] = False
    default_pod_failure_policy(spec)
    if spec.get("podReplacementPolicy") is None:
        spec["podReplacementPolicy"] = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"


def default_pod_failure_policy(spec: Tree) -> None:
    """Default the status of the pod conditions that the failure policy of a Job matches."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def generate_selector(obj: Tree) -> None:
    """Add the UID and Job name labels to the template, and a selector on the UID label."""
    metadata, spec = obj["metadata"], obj["spec"]
    labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    for label in NAME_LABELS:  # existing values are kept, for validation to reject
        labels.setdefault(label, metadata.get("name", ""))
    for label in UID_LABELS:
        labels.setdefault(label, metadata["uid"])
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(UID_LABELS[1], metadata["uid"])


def _status(obj: Tree) -> str:
    status = obj.get("status")
    if has_condition(status, "Complete"):
        return "Complete"
    if has_condition(status, "Failed"):
        return "Failed"
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if has_condition(status, "Suspended"):
        return "Suspended"
    if has_condition(status, "FailureTarget"):
        return "FailureTarget"
    return "SuccessCriteriaMet" if has_condition(status, "SuccessCriteriaMet") else "Running"


def _completions(obj: Tree) -> str:
    spec = obj["spec"]
    succeeded = (obj.get("status") or {}).get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(obj: Tree, now: datetime) -> str:
    status = obj.get("status") or {}
    start = columns.parse_time(status.get("startTime"))
    if start is None:
        return ""
    end = columns.parse_time(status.get("completionTime"))
    return columns.human_duration((end or now) - start)
