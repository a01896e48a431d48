"""CronJobs: the rules as tables, and the controller on a server in this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.batch_v1 import CronJob, CronJobStatus, Job, JobSpec
from lightkube.models.meta_v1 import OwnerReference

from steersman.apimachinery.schedules import parse_schedule
from steersman.client import tree
from steersman.client.changes import Updated
from steersman.client.objects import name_of, uid_of
from steersman.controllers.cronjob import plan
from steersman.controllers.cronjob.controller import build
from steersman.controllers.cronjob.missed import NoOccurrence, find_due, next_start
from steersman.runtime.owners import controller_reference
from steersman.runtime.structs import with_metadata

NOW = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
NOON = NOW.replace(second=0)
JOB = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}}


def cron(schedule="* * * * *", *, last=None, active=(), created=None, deleted=False, **spec):
    references = [{"name": name, "uid": name} for name in active]
    return msgspec.convert(
        {
            "metadata": {"name": "cj", "namespace": "ns", "uid": "u", "creationTimestamp": created or NOW - timedelta(days=1),
                         "deletionTimestamp": NOW if deleted else None},
            "spec": {"schedule": schedule, "jobTemplate": JOB, **spec},
            "status": {"lastScheduleTime": last, "active": references},
        },
        CronJob,
    )  # fmt: skip


def job(name, condition_type="", *, start=None, at=NOON):
    conditions = [{"type": condition_type, "status": "True", "lastTransitionTime": at}] if condition_type else []
    status = {
        "conditions": conditions,
        "startTime": start,
        "completionTime": at if condition_type == "Complete" else None,
    }
    return msgspec.convert({"metadata": {"name": name, "namespace": "ns", "uid": name}, "status": status}, Job)


# What was missed


@pytest.mark.parametrize(
    ("schedule", "since", "at", "too_many"),
    [
        ("* * * * *", NOW - timedelta(seconds=10), None, False),
        ("* * * * *", NOW - timedelta(seconds=40), NOON, False),
        ("* * * * *", NOW - timedelta(minutes=90), NOON, False),
        ("* * * * *", NOW - timedelta(minutes=102), NOON, True),
        ("* * * * *", NOW - timedelta(days=3650), NOON, True),
        ("0 12 * * *", NOW - timedelta(days=3), NOON, False),
        ("0 12 1 1 *", NOW - timedelta(days=400), NOON, False),
        # Estimated by the interval between the first two.
        ("0 11,12 * * *", NOW - timedelta(days=4), NOON, False),
        ("0 11,12 * * *", NOW - timedelta(days=6), NOON, True),
        # In the last two intervals of this length there is none.
        ("*/10 0 * * *", NOW - timedelta(hours=13), NOON.replace(hour=0, minute=50), False),
        ("*/10 0 * * *", NOW - timedelta(days=400), NOON.replace(hour=0, minute=50), True),
        # Within the last two intervals of two months are many.
        ("* 0-11 * 1-10 *", datetime(2024, 10, 31, 11, 58, tzinfo=UTC), NOON - timedelta(minutes=1), False),
        # An interval is counted from the last start.
        ("@every 1h", NOW - timedelta(minutes=90), NOW - timedelta(minutes=30), False),
        ("@every 1h", NOW - timedelta(days=365, minutes=20), NOW - timedelta(minutes=20), True),
    ],
)
def test_due_start_is_the_latest(schedule, since, at, too_many):
    due = find_due(parse_schedule(schedule), since=since, now=NOW)
    assert (due.at, due.too_many) == (at, too_many)


@pytest.mark.parametrize(
    ("schedule", "since", "following"),
    [
        ("@every 1h", NOW - timedelta(minutes=90), NOW + timedelta(minutes=30)),
        ("@every 1h", NOW - timedelta(minutes=10), NOW + timedelta(minutes=50)),
        ("0 * * * *", NOW - timedelta(minutes=90), NOON + timedelta(hours=1)),
        ("*/10 0 * * *", NOW - timedelta(hours=13), NOON + timedelta(hours=12)),
        ("0 0 31 2 *", NOW, None),
    ],
)
def test_next_start_follows_the_latest_one(schedule, since, following):
    assert next_start(parse_schedule(schedule), since=since, now=NOW) == following


def test_due_start_is_none_when_the_schedule_never_occurs():
    with pytest.raises(NoOccurrence):
        find_due(parse_schedule("0 0 31 2 *"), since=NOW, now=NOW)


# Which changes of Jobs matter


RUNNING = job("j", start=NOON)


@pytest.mark.parametrize(
    ("old", "new", "relevant"),
    [
        (job("j"), RUNNING, False),
        (
            RUNNING,
            msgspec.structs.replace(RUNNING, spec=msgspec.convert({**JOB["spec"], "suspend": True}, JobSpec)),
            False,
        ),
        (RUNNING, job("j", "Suspended", start=NOON), True),
        (RUNNING, job("j", "Complete", start=NOON), True),
        (job("j", "Complete", start=NOON), job("j", "Complete", start=NOON), False),
        (job("j", "Complete", start=NOON), job("j", "Complete", start=NOON, at=NOW), True),
        (RUNNING, with_metadata(RUNNING, deletionTimestamp=NOW), True),
        (RUNNING, with_metadata(RUNNING, labels={"a": "b"}), False),
        (
            RUNNING,
            with_metadata(RUNNING, ownerReferences=[OwnerReference("batch/v1", "CronJob", "cj", "u", controller=True)]),
            True,
        ),
    ],
)
def test_change_of_a_job_is_relevant_by_its_owners_end_and_deletion(old, new, relevant):
    assert plan.is_relevant(old, new) == relevant


# What to start


@pytest.mark.parametrize(
    ("expected", "at", "reasons"),
    [
        (cron(last=NOW - timedelta(minutes=2)), NOON, []),
        (cron(last=NOON), None, []),
        (cron(created=NOW), None, []),
        (cron(last=NOW - timedelta(minutes=2), suspend=True), None, []),
        (cron(last=NOW - timedelta(minutes=2), deleted=True), None, []),
        (cron(last=NOW - timedelta(minutes=2), startingDeadlineSeconds=10), None, []),
        (cron(last=NOW - timedelta(minutes=2), startingDeadlineSeconds=30), None, []),
        (cron(last=NOW - timedelta(minutes=2), startingDeadlineSeconds=31), NOON, []),
        (cron(last=NOW - timedelta(minutes=2), startingDeadlineSeconds=2**63 - 1), NOON, []),
        (cron(last=datetime.max.replace(tzinfo=UTC)), None, []),
        (cron(last=NOW - timedelta(days=2)), NOON, ["TooManyMissedTimes"]),
        (cron(last=NOW - timedelta(days=2), startingDeadlineSeconds=600), NOON, []),
        (cron(last=NOW - timedelta(minutes=2), active=["a"]), NOON, []),
        (cron(last=NOW - timedelta(minutes=2), active=["a"], concurrencyPolicy="Forbid"), None, ["JobAlreadyActive"]),
        (cron(last=NOW - timedelta(minutes=2), active=["a"], concurrencyPolicy="Replace"), NOON, []),
        (cron("0 0 31 2 *"), None, ["InvalidSchedule"]),
        (cron("nonsense"), None, ["UnparseableSchedule"]),
        (cron(timeZone="Mars"), None, ["UnknownTimeZone"]),
        (cron("TZ=UTC * * * * *", last=NOON), None, ["UnsupportedSchedule"]),
    ],
)
def test_whether_a_job_is_started(expected, at, reasons):
    start = plan.plan_start(expected, plan.status_of(expected), now=NOW)
    assert (start.at, [event.reason for event in start.events]) == (at, reasons)
    assert start.replaces is (expected.spec.concurrencyPolicy == "Replace")


def test_schedule_that_never_occurs_is_reported():
    expected = cron("0 0 31 2 *")
    (event,) = plan.plan_start(expected, plan.status_of(expected), now=NOW).events
    assert event.type == "Warning"
    assert event.message.startswith("invalid schedule: 0 0 31 2 * : ")


def test_requeue_is_at_the_next_time():
    expected = cron("0 15 * * *", timeZone="Asia/Tokyo", last=NOON)
    assert plan.plan_start(expected, plan.status_of(expected), now=NOW).wake == datetime(2026, 1, 2, 6, tzinfo=UTC)


def test_job_has_name_and_annotation_of_its_start():
    job = plan.new_job(cron(timeZone="America/New_York"), NOON)
    assert name_of(job) == f"cj-{int(NOON.timestamp()) // 60}"
    assert job.metadata.annotations == {plan.SCHEDULED_AT: "2026-01-01T07:00:00-05:00"}
    assert job.metadata.ownerReferences[0].kind == "CronJob"
    assert plan.new_job(cron(), NOON).metadata.annotations == {plan.SCHEDULED_AT: "2026-01-01T12:00:00Z"}


# What became of Jobs


def test_finished_jobs_are_removed_from_active():
    status = plan.status_of(cron(active=["a", "b", "c"]))
    status, events = plan.with_finished_jobs(
        status, [job("a", "Complete"), job("b", "Failed"), job("c"), job("d"), job("e", "Failed")]
    )
    assert [item.name for item in status.active] == ["c"]
    assert status.lastSuccessfulTime == NOON
    assert [event.reason for event in events] == ["SawCompletedJob", "SawCompletedJob", "UnexpectedJob"]
    assert events[1].message == "Saw completed job: b, condition: Failed"


def test_last_successful_time_never_decreases():
    status, _ = plan.with_finished_jobs(CronJobStatus(lastSuccessfulTime=NOW), [job("a", "Complete")])
    assert status.lastSuccessfulTime == NOW


def test_jobs_beyond_the_limits_are_deleted_oldest_first():
    jobs = [job("young", "Complete", start=NOW), job("old", "Complete", start=NOON), job("bad", "Failed"), job("runs")]
    surplus = plan.superfluous(cron(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0), jobs)
    assert list(map(name_of, surplus)) == ["old", "bad"]
    assert plan.superfluous(cron(successfulJobsHistoryLimit=None, failedJobsHistoryLimit=None), jobs) == []


# On a server


async def run(cluster, **spec):
    full_spec = {"schedule": "*/5 * * * *", "jobTemplate": JOB, **spec}
    await cluster.make("batch/v1", "CronJob", "cj", namespace="default", spec=full_spec)
    return await cluster.start(build)


async def jobs_of(cluster):
    return await cluster.client.list(Job, namespace="default")


def have(cluster, count):
    async def so():
        return len(await jobs_of(cluster)) == count

    return so


async def end(cluster, running_job, condition_type="Complete"):
    now = cluster.clock.now().replace(microsecond=0)
    criterion = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[condition_type]
    conditions = [{"type": name, "status": "True", "lastTransitionTime": now} for name in (criterion, condition_type)]
    status = {"startTime": now, "completionTime": now, "conditions": conditions}
    await cluster.client.patch(Job, name_of(running_job), {"status": status}, namespace="default", subresource="status")


async def test_reconcile_creates_a_job_at_its_minute(cluster, clock):
    controller = await run(cluster)
    minutes = 5 * 60 - (clock.now().timestamp() % 300)
    await clock.advance(minutes - 1)
    assert await jobs_of(cluster) == []
    await clock.advance(1)
    await cluster.until(have(cluster, 1), within_seconds=1)
    obj = await cluster.eventually(
        "batch/v1", "CronJob", "cj", lambda item: item["status"].get("active"), namespace="default"
    )
    assert obj["status"]["active"][0]["name"] == name_of((await jobs_of(cluster))[0])
    skew = "cronjob_controller_job_creation_skew_duration_seconds"
    assert cluster.sample(controller, f"{skew}_count") == 1
    assert cluster.sample(controller, f"{skew}_sum") < 1


async def test_reconcile_records_and_deletes_finished_jobs(cluster):
    await run(cluster, successfulJobsHistoryLimit=0)
    await cluster.until(have(cluster, 1), within_seconds=301, step_seconds=1)
    await end(cluster, (await jobs_of(cluster))[0])
    await cluster.until(have(cluster, 0))
    await cluster.eventually(
        "batch/v1", "CronJob", "cj", lambda item: not item["status"].get("active"), namespace="default"
    )
    await cluster.until(lambda: cluster.events("SuccessfulDelete"))


async def test_each_change_of_an_unexpected_job_repeats_its_event(cluster):
    await run(cluster, schedule="0 0 1 1 *")
    owner = await cluster.client.get(CronJob, "cj", namespace="default")
    reference = controller_reference(owner, api_version="batch/v1", kind="CronJob")
    metadata = {"ownerReferences": [reference.tree()]}
    await cluster.make("batch/v1", "Job", "mine", namespace="default", metadata=metadata, spec=JOB["spec"])

    def is_observed(count):
        async def so():
            return [event.get("count") for event in await cluster.events("UnexpectedJob")] == [count]

        return so

    await cluster.until(is_observed(1))
    status = {"active": 1, "startTime": cluster.clock.now().replace(microsecond=0)}
    await cluster.client.patch(Job, "mine", {"status": status}, namespace="default", subresource="status")
    await cluster.until(is_observed(2))


async def test_reconcile_replaces_an_active_job(cluster):
    await run(cluster, concurrencyPolicy="Replace")
    await cluster.until(have(cluster, 1), within_seconds=301, step_seconds=1)
    first = name_of((await jobs_of(cluster))[0])

    async def another():
        jobs = await jobs_of(cluster)
        return len(jobs) == 1 and name_of(jobs[0]) != first

    await cluster.until(another, within_seconds=301, step_seconds=1)


async def test_reconcile_removes_a_missing_job_from_the_active_ones(cluster):
    await run(cluster)
    await cluster.until(have(cluster, 1), within_seconds=301, step_seconds=1)
    name = name_of((await jobs_of(cluster))[0])
    await cluster.client.delete(tree("batch/v1", "Job"), name, namespace="default", propagation_policy="Background")
    events = await cluster.until(lambda: cluster.events("MissingJob"))
    assert events[0]["message"] == f"Active job went missing: {name}"


async def activate(cluster, **reference):
    status = {"active": [{"apiVersion": "batch/v1", "kind": "Job", **reference}]}
    await cluster.client.patch(CronJob, "cj", {"status": status}, namespace="default", subresource="status")


async def test_reconcile_looks_for_a_missing_job_in_the_namespace_of_its_reference(cluster):
    await run(cluster, schedule="0 0 1 1 *")
    await cluster.make("batch/v1", "Job", "one", namespace="default", spec=JOB["spec"])
    await activate(cluster, name="one", namespace="kube-system", uid="u")
    events = await cluster.until(lambda: cluster.events("MissingJob"))
    assert events[0]["message"] == "Active job went missing: one"


async def test_reconcile_does_not_replace_a_job_that_it_cannot_read(cluster):
    await run(cluster, concurrencyPolicy="Replace")
    await cluster.until(have(cluster, 1), within_seconds=301, step_seconds=1)
    first = (await jobs_of(cluster))[0]
    await activate(cluster, name=name_of(first), uid=uid_of(first))
    events = await cluster.until(lambda: cluster.events("FailedGet"), within_seconds=301, step_seconds=1)
    message = "Get job: an empty namespace may not be set when a resource name is provided"
    assert events[0]["message"] == message
    assert list(map(uid_of, await jobs_of(cluster))) == [uid_of(first)]


async def test_terminating_jobs_count_against_the_history_limits(cluster):
    await run(cluster, schedule="0 0 1 1 *", successfulJobsHistoryLimit=1)
    owner = await cluster.client.get(CronJob, "cj", namespace="default")
    reference = controller_reference(owner, api_version="batch/v1", kind="CronJob").tree()
    for name, finalizers in (("a", []), ("b", ["example.com/hold"])):
        metadata = {"ownerReferences": [reference], "finalizers": finalizers}
        await cluster.make("batch/v1", "Job", name, namespace="default", metadata=metadata, spec=JOB["spec"])
    await cluster.client.delete(tree("batch/v1", "Job"), "b", namespace="default", propagation_policy="Background")
    for finished_job in await jobs_of(cluster):
        await end(cluster, finished_job)
    await cluster.until(have(cluster, 1))
    assert list(map(name_of, await jobs_of(cluster))) == ["b"]


async def test_changed_schedule_takes_effect_at_its_next_time(cluster, clock):
    await run(cluster, schedule="0 0 29 2 *")
    await clock.advance(3600 - clock.now().timestamp() % 300 + 1)
    resource = tree("batch/v1", "CronJob")
    for spec in ({"schedule": "*/5 * * * *"}, {"timeZone": "Europe/Berlin"}):
        await cluster.client.patch(resource, "cj", {"spec": spec}, namespace="default")
    await clock.advance(290)
    assert await jobs_of(cluster) == []
    await clock.advance(10)
    await cluster.until(have(cluster, 1), within_seconds=1)


async def test_other_changes_make_up_for_a_missed_start_at_once(cluster, clock):
    await run(cluster, suspend=True)
    await clock.advance(3600 - clock.now().timestamp() % 300 + 1)
    await cluster.client.patch(tree("batch/v1", "CronJob"), "cj", {"spec": {"suspend": False}}, namespace="default")
    await cluster.until(have(cluster, 1), within_seconds=1)


async def test_unknown_time_zone_of_a_changed_schedule_is_reported(cluster):
    controller = await run(cluster)
    old = msgspec.convert(await cluster.find("batch/v1", "CronJob", "cj", namespace="default"), CronJob)
    new = msgspec.structs.replace(old, spec=msgspec.structs.replace(old.spec, timeZone="Nowhere/City"))
    controller._cron_changed(Updated(old, new))
    await cluster.until(lambda: cluster.events("UnParseableCronJobSchedule"))
