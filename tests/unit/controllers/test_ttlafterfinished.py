from datetime import UTC, datetime
from functools import partial

import msgspec
import pytest
from lightkube.models.batch_v1 import Job

from steersman.controllers.ttlafterfinished.controller import build
from steersman.controllers.ttlafterfinished.plan import seconds_to_deletion

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def job(*, ttl=100, type_="Complete", status="True", deleted=False):
    condition = {"type": type_, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    metadata = {"name": "j", **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {})}
    spec = {"template": {}, **({} if ttl is None else {"ttlSecondsAfterFinished": ttl})}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"conditions": [condition]}}, Job)


@pytest.mark.parametrize(
    ("obj", "seconds"),
    [
        (job(), 40),
        (job(type_="Failed"), 40),
        (job(ttl=0), -60),
        (job(ttl=None), None),
        (job(type_="Suspended"), None),
        (job(status="False"), None),
        (job(deleted=True), None),
    ],
)
def test_seconds_to_deletion(obj, seconds):
    assert seconds_to_deletion(obj, now=NOW) == seconds


async def make_finished(cluster, clock, pod_spec, name, **spec):
    template = {"spec": {**pod_spec, "restartPolicy": "Never"}}
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [
        {"type": type_, "status": "True", "lastTransitionTime": now} for type_ in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"conditions": conditions, "startTime": now, "completionTime": now, "succeeded": 1}
    await cluster.make("batch/v1", "Job", name, namespace="default", spec={"template": template, **spec}, status=status)


async def test_only_finished_jobs_with_a_ttl_are_queued(cluster, pod_spec, clock, monkeypatch):
    controller = await cluster.start(build)
    queued = set()

    def add(key, *, priority):
        queued.add(key)

    monkeypatch.setattr(controller.queue, "add", add)
    await make_finished(cluster, clock, pod_spec, "a")
    await make_finished(cluster, clock, pod_spec, "b", ttlSecondsAfterFinished=60)
    await cluster.until(lambda: queued)
    assert queued == {"default/b"}


async def test_finished_job_is_deleted_after_its_ttl(cluster, pod_spec, clock):
    controller = await cluster.start(build)
    await make_finished(cluster, clock, pod_spec, "j", ttlSecondsAfterFinished=60)
    await clock.advance(50)
    assert "deletionTimestamp" not in (await cluster.find("batch/v1", "Job", "j", namespace="default"))["metadata"]
    await cluster.eventually(
        "batch/v1",
        "Job",
        "j",
        lambda obj: obj is None or "deletionTimestamp" in obj["metadata"],
        namespace="default",
    )
    deletions = partial(cluster.sample, controller, "ttl_after_finished_controller_job_deletion_duration_seconds_count")
    await cluster.until(lambda: deletions() == 1)
