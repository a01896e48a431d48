"""Pods of a Job: the template with the tracking finalizer and, if Indexed, the completion index. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lightkube.models.core_v1 import Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod

from steersman.client.objects import annotations_of, labels_of, name_of, namespace_of
from steersman.controllers.job import facts
from steersman.runtime.finalizers import with_finalizer
from steersman.runtime.structs import replaced, with_metadata
from steersman.workloads.pods import pod_from_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightkube.models.batch_v1 import Job

    from steersman.runtime.owners import Owner

INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
#: Maximum length of ``generateName``, before the server's suffix.
_GENERATED_MAX: Final = 58


def new_pod(job: Job, controller: Owner, index: int | None, *, last: Pod | None) -> Pod:
    """Return a Pod to create; ``last``: the failed Pod of its index, whose failure counts it continues."""
    template = facts.spec_of(job).template
    pod = with_finalizer(
        pod_from_template(template, owner_name=name_of(job), namespace=namespace_of(job), controller=controller),
        facts.TRACKING,
    )
    return pod if index is None else _with_index(job, pod, index, last)


def _with_index(job: Job, pod: Pod, index: int, last: Pod | None) -> Pod:
    annotations = annotations_of(pod) | {facts.INDEX: str(index)}
    if facts.counts_per_index(job):
        counted, ignored = facts.next_failures(last, job)
        annotations[facts.INDEX_FAILURES] = str(counted)
        if ignored:
            annotations[facts.INDEX_IGNORED_FAILURES] = str(ignored)
    spec = replaced(
        pod.spec,
        hostname=f"{name_of(job)}-{index}",
        containers=_with_variable(pod.spec.containers if pod.spec else ()),
        initContainers=_with_variable((pod.spec.initContainers if pod.spec else None) or ()) or None,
    )
    pod = with_metadata(
        pod,
        annotations=annotations,
        labels=labels_of(pod) | {facts.INDEX: str(index)},
        generateName=generated_prefix(name_of(job), index),
    )
    return replaced(pod, spec=spec)


def generated_prefix(name: str, index: int) -> str:
    """Return ``generateName`` of an index's Pods; the Job's name is truncated to fit."""
    suffix = f"-{index}-"
    return name[: _GENERATED_MAX - len(suffix)] + suffix


def _with_variable(containers: Sequence[Container]) -> list[Container]:
    """Return the containers with ``JOB_COMPLETION_INDEX``, unless they set it."""
    path = ObjectFieldSelector(fieldPath=f"metadata.labels['{facts.INDEX}']")
    variable = EnvVar(name=INDEX_VARIABLE, valueFrom=EnvVarSource(fieldRef=path))
    return [
        container
        if any(env.name == INDEX_VARIABLE for env in container.env or ())
        else replaced(container, env=[*(container.env or ()), variable])
        for container in containers
    ]
