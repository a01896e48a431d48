"""Jobs: the rules as tables, and the controller on a server in this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.batch_v1 import Job, JobStatus, PodFailurePolicy, SuccessPolicy
from lightkube.models.core_v1 import Pod
from prometheus_client import CollectorRegistry

from steersman.client import tree
from steersman.client.changes import Added, Deleted, Updated
from steersman.controllers.job import facts, plan
from steersman.controllers.job.accounting import account, end_events, finish, settle, with_suspension
from steersman.controllers.job.backoff import Failures, ended_at
from steersman.controllers.job.controller import build
from steersman.controllers.job.indexes import Indexes
from steersman.controllers.job.metrics import JobMetrics, SyncAction
from steersman.controllers.job.observed import observe
from steersman.controllers.job.policies import match_failure, met_success_policy
from steersman.controllers.job.templates import generated_prefix, new_pod
from steersman.runtime.owners import Owner

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COMPLETE = {"type": "Complete", "status": "True"}
COMPLETED = ("Normal", "Completed", "Job completed")
TOO_MANY = "Too many succeeded pods running after completion count reached"
OWNER = Owner("batch/v1", "Job", "j", "u", controller=True)


def job(status=None, **spec):
    template = {"spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}}
    full_spec = {"completions": 3, "parallelism": 2, "backoffLimit": 6, "template": template, **spec}
    metadata = {"name": "j", "namespace": "ns", "uid": "u"}
    return msgspec.convert({"metadata": metadata, "spec": full_spec, "status": status or {}}, Job)


def indexed(status=None, **spec):
    return job(status, completionMode="Indexed", **spec)


def pod(name, phase="Running", *, index=None, tracked=True, deleted=False, failures=None, exit_code=None, **more):
    annotations = {} if index is None else {facts.INDEX: str(index)}
    if failures is not None:
        annotations[facts.INDEX_FAILURES] = str(failures)
    metadata = {"name": name, "namespace": "ns", "uid": name, "annotations": annotations, "creationTimestamp": NOW,
                "finalizers": [facts.TRACKING] if tracked else [], "deletionTimestamp": NOW if deleted else None}  # fmt: skip
    container = {"name": "c", "image": "", "imageID": "", "ready": False, "restartCount": more.pop("restarts", 0)}
    if exit_code is not None:
        container["state"] = {"terminated": {"exitCode": exit_code, "finishedAt": NOW}}
    status = {"phase": phase, "containerStatuses": [container], **more}
    return msgspec.convert({"metadata": metadata, "spec": {"containers": []}, "status": status}, Pod)


def see(expected, *pods, untracked=(), failures=None):
    return observe(expected, pods, untracked=untracked, failures=failures or Failures())


# Indexes


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([1, 2], "1,2"), ([0, 1, 2], "0-2"), ([7, 0, 1, 2, 4, 5], "0-2,4,5,7")],
)
def test_indexes_are_written_in_runs_and_read_again(numbers, text):
    assert str(Indexes.of(numbers)) == text
    assert Indexes.parse(text, 10) == Indexes.of(numbers)
    assert [number for number in range(10) if number in Indexes.of(numbers)] == sorted(numbers)
    assert list(Indexes.of(numbers).missing(8)) == [number for number in range(8) if number not in numbers]


def test_indexes_beyond_the_end_and_nonsense_are_left_out():
    assert str(Indexes.parse("0,x,3-9,12", 5)) == "0,3,4"
    assert Indexes.of([1, 2, 3]).in_common(Indexes.of([0, 2, 3, 4])) == 2


# Policies


def policy(*rules):
    return msgspec.convert({"rules": list(rules)}, PodFailurePolicy)


EXIT_42 = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
NOT_1 = {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [1], "containerName": "c"}}
DISRUPTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


@pytest.mark.parametrize(
    ("rules", "code", "conditions", "action"),
    [
        ([EXIT_42], 42, [], "FailJob"),
        ([EXIT_42], 41, [], ""),
        ([NOT_1, EXIT_42], 42, [], "Count"),
        ([NOT_1], 1, [], ""),
        ([NOT_1], 0, [], ""),
        ([DISRUPTED], 1, [{"type": "DisruptionTarget", "status": "True"}], "Ignore"),
        ([DISRUPTED], 1, [{"type": "DisruptionTarget", "status": "False"}], ""),
    ],
)
def test_pod_failure_policy_applies_the_first_matching_rule(rules, code, conditions, action):
    result = match_failure(policy(*rules), pod("p", "Failed", exit_code=code, conditions=conditions))
    assert result.action == action
    assert result.counts is (action != "Ignore")


def test_pod_failure_policy_fail_job_has_a_message():
    result = match_failure(policy(DISRUPTED, EXIT_42), pod("p", "Failed", exit_code=42))
    assert result.message == "Container c for pod ns/p failed with exit code 42 matching FailJob rule at index 1"
    rule = {"action": "FailJob", "onPodConditions": [{"type": "Bad"}]}
    result = match_failure(policy(rule), pod("p", "Failed", conditions=[{"type": "Bad", "status": "True"}]))
    assert result.message == "Pod ns/p has condition Bad matching FailJob rule at index 0"


@pytest.mark.parametrize(
    ("rule", "conditions"),
    [
        ({"succeededCount": 2}, True),
        ({"succeededCount": 3}, False),
        ({"succeededIndexes": "0,2"}, True),
        ({"succeededIndexes": "0-2"}, False),
        ({"succeededIndexes": "0-2", "succeededCount": 2}, True),
    ],
)
def test_success_policies(rule, conditions):
    converted = msgspec.convert({"rules": [rule]}, SuccessPolicy)
    assert met_success_policy(converted, Indexes.of([0, 2]), 5) == ("Matched rules at index 0" if conditions else "")


# Backoff


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (3, 40), (7, 600), (1000, 600)])
def test_backoff_doubles_with_each_failure(failures, seconds):
    assert Failures(failures, NOW).seconds_left(NOW) == seconds
    assert Failures(failures, NOW).seconds_left(NOW + timedelta(seconds=5)) == max(0, seconds - 5)


def test_backoff_is_reset_by_a_success():
    good, bad = pod("a", "Succeeded", exit_code=0), pod("b", "Failed", exit_code=1)
    assert Failures(3, NOW).after([], [bad]) == Failures(4, NOW)
    assert Failures(3, NOW).after([good], [bad]) == Failures(0, None)
    assert Failures(3, NOW).after([], []) == Failures(3, NOW)


def test_finish_time_of_a_pod():
    earlier = NOW - timedelta(seconds=9)
    not_ready = [{"type": "Ready", "status": "False", "lastTransitionTime": earlier}]
    assert ended_at(pod("a", exit_code=1)) == NOW
    assert ended_at(pod("a", conditions=not_ready)) == earlier
    assert ended_at(pod("a", deleted=True)) == NOW
    forced = pod("a", deleted=True)
    forced.metadata.deletionGracePeriodSeconds = 2**63 - 1
    assert ended_at(forced) < NOW


# Has it ended?


@pytest.mark.parametrize(
    ("expected", "pods", "reason"),
    [
        (job(), [pod("a")], None),
        (job(backoffLimit=0), [pod("a", "Failed")], "BackoffLimitExceeded"),
        (job(backoffLimit=1), [pod("a", "Failed")], None),
        (job(backoffLimit=1), [pod("a", "Failed"), pod("b", deleted=True)], "BackoffLimitExceeded"),
        (job({"failed": 1}, backoffLimit=1), [pod("b", "Failed")], "BackoffLimitExceeded"),
        (job({"failed": 1}, backoffLimit=1), [pod("b", "Failed", tracked=False)], None),
        (job(activeDeadlineSeconds=5), [pod("a")], "DeadlineExceeded"),
        (job(activeDeadlineSeconds=15), [pod("a")], None),
        (job(activeDeadlineSeconds=2**63 - 1), [pod("a")], None),
        (job(activeDeadlineSeconds=5, suspend=True), [], None),
        (job(podFailurePolicy={"rules": [EXIT_42]}), [pod("a", "Failed", exit_code=42)], "PodFailurePolicy"),
        (indexed(backoffLimitPerIndex=0), [pod("a", "Failed", index=1)], None),
        (indexed({"completedIndexes": "0,2"}, backoffLimitPerIndex=0), [pod("a", "Failed", index=1)], "FailedIndexes"),
        (indexed(backoffLimitPerIndex=0, maxFailedIndexes=0), [pod("a", "Failed", index=1)], "MaxFailedIndexesExceeded"),
        (indexed({"completedIndexes": "1"}, successPolicy={"rules": [{"succeededCount": 1}]}), [], "SuccessPolicy"),
    ],
)  # fmt: skip
def test_end_reason_of_a_job(expected, pods, reason):
    result = plan.finish_condition(see(expected, *pods), NOW - timedelta(seconds=10), now=NOW)
    assert (result.reason if result else None) == reason


@pytest.mark.parametrize(("limit", "restarts", "fails"), [(2, 1, False), (2, 2, True), (0, 0, False), (0, 1, True)])
def test_restarts_in_place_count_against_the_limit(limit, restarts, fails):
    template = {"spec": {"containers": [{"name": "c"}], "restartPolicy": "OnFailure"}}
    seen = see(job(backoffLimit=limit, template=template), pod("a", restarts=restarts))
    assert (plan.finish_condition(seen, NOW, now=NOW) is not None) is fails


def test_end_reason_is_final():
    stored = {"type": "FailureTarget", "status": "True", "reason": "Once", "lastTransitionTime": NOW}
    assert (
        plan.finish_condition(
            see(job({"conditions": [stored]}, backoffLimit=0), pod("a", "Failed")), NOW, now=NOW
        ).reason
        == "Once"
    )


@pytest.mark.parametrize(
    ("expected", "active", "complete"),
    [
        (job({"succeeded": 3}), 0, True),
        (job({"succeeded": 3}), 1, False),
        (job({"succeeded": 2}), 0, False),
        (job(completions=0), 0, True),
        (job({"succeeded": 1}, completions=None), 0, True),
        (job(completions=None), 0, False),
    ],
)
def test_is_complete_by_completions(expected, active, complete):
    assert (plan.completion(see(expected), active, now=NOW) is not None) is complete


# Which Pods does it need?


@pytest.mark.parametrize(
    ("expected", "pods", "create", "delete"),
    [
        (job(), [], 2, []),
        (job(), [pod("a")], 1, []),
        (job({"succeeded": 2}), [pod("a")], 0, []),
        (job(parallelism=0), [pod("a")], 0, ["a"]),
        (job(suspend=True), [pod("a"), pod("b")], 0, ["a", "b"]),
        (job(completions=None, parallelism=3), [pod("a")], 2, []),
        (job({"succeeded": 1}, completions=None, parallelism=3), [pod("a")], 0, []),
        (job(podReplacementPolicy="Failed"), [pod("a", deleted=True)], 1, []),
        (job(podReplacementPolicy="TerminatingOrFailed"), [pod("a", deleted=True, tracked=False)], 2, []),
    ],
)
def test_desired_pods_of_a_job(expected, pods, create, delete):
    result = plan.plan_pods(see(expected, *pods), now=NOW + timedelta(hours=1))
    assert (len(result.create), [job_pod.metadata.name for job_pod in result.delete]) == (create, delete)


@pytest.mark.parametrize(
    ("expected", "pods", "create", "delete"),
    [
        (indexed(), [], (0, 1), []),
        (indexed({"completedIndexes": "0"}), [pod("a", index=2)], (1,), []),
        (indexed(), [pod("a", index=0), pod("b", index=0)], (), ["a"]),
        (indexed(), [pod("a"), pod("b", index=7)], (), ["a", "b"]),
        (indexed({"completedIndexes": "0"}), [pod("a", index=0)], (), ["a"]),
        (indexed(podReplacementPolicy="Failed"), [pod("a", index=0, deleted=True)], (1,), []),
    ],
)
def test_which_indexes_a_job_needs(expected, pods, create, delete):
    result = plan.plan_pods(see(expected, *pods), now=NOW)
    assert (result.create, [job_pod.metadata.name for job_pod in result.delete]) == (create, delete)


def test_failed_pod_is_replaced_after_the_backoff():
    seen = see(job(), pod("a", "Failed", exit_code=1))
    assert plan.plan_pods(seen, now=NOW + timedelta(seconds=4)).requeue_after_seconds == 6
    assert len(plan.plan_pods(seen, now=NOW + timedelta(seconds=10)).create) == 2


def test_backoff_is_per_index_with_index_limits():
    seen = see(indexed(backoffLimitPerIndex=3, completions=2), pod("a", "Failed", index=0, failures=1, exit_code=1))
    result = plan.plan_pods(seen, now=NOW)
    assert (result.create, result.requeue_after_seconds) == ((1,), 20)
    assert seen.last_failed[0].metadata.name == "a"


# Accounts


def test_finished_pod_is_recorded_before_its_finalizer_is_removed():
    seen = see(job(), pod("a", "Succeeded"), pod("b", "Failed"), pod("c"))
    accounting = account(seen, JobStatus(), None, now=NOW)
    uncounted = accounting.status.uncountedTerminatedPods
    assert (uncounted.succeeded, uncounted.failed) == (["a"], ["b"])
    assert [job_pod.metadata.name for job_pod in accounting.to_untrack] == ["a", "b"]
    settled = settle(accounting.status, {"b", "c"})
    assert (settled.succeeded, settled.failed, settled.uncountedTerminatedPods.failed) == (1, None, ["b"])


def test_counted_pods_are_not_counted_again():
    stored = {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b"]}, "failed": 1}
    seen = see(
        job(stored), pod("a", "Succeeded"), pod("b", "Failed", tracked=False), pod("d", "Failed"), untracked={"d"}
    )
    assert (seen.succeeded, seen.failed) == (1, 2)
    status = account(seen, seen.job.status, None, now=NOW).status
    assert (status.failed, status.uncountedTerminatedPods.succeeded) == (2, ["a"])
    assert status.uncountedTerminatedPods.failed is None


def test_indexes_that_succeeded_are_written_at_once():
    seen = see(indexed({"completedIndexes": "0"}), pod("a", "Succeeded", index=1), pod("b", "Succeeded", index=0))
    status = account(seen, seen.job.status, None, now=NOW).status
    assert (status.completedIndexes, status.succeeded) == ("0,1", 2)


def test_pods_of_a_failing_job_count_as_failed():
    seen = see(job(), pod("a"), pod("b", "Succeeded"))
    ending = plan.condition(facts.FAILURE_TARGET, "R", "m", now=NOW)
    accounting = account(seen, JobStatus(), ending, now=NOW)
    assert accounting.status.uncountedTerminatedPods.failed == ["a"]
    assert [condition.type for condition in accounting.status.conditions] == ["FailureTarget"]
    assert (accounting.final.type, accounting.final.reason) == ("Failed", "R")


def test_failed_pod_is_kept_until_its_replacement_records_it():
    failed = pod("a", "Failed", index=0, failures=0)
    assert account(see(indexed(backoffLimitPerIndex=3), failed), JobStatus(), None, now=NOW).to_untrack == ()
    seen = see(indexed(backoffLimitPerIndex=3), failed, pod("b", index=0, failures=1))
    assert account(seen, JobStatus(), None, now=NOW).to_untrack == (failed,)


@pytest.mark.parametrize(
    ("status", "ends"),
    [({}, True), ({"terminating": 1}, False), ({"uncountedTerminatedPods": {"failed": ["a"]}}, False)],
)
def test_terminal_condition_is_set_after_all_pods_are_counted(status, ends):
    final = plan.condition("Complete", "R", "m", now=NOW)
    done = finish(msgspec.convert(status, JobStatus), final)
    assert (done.completionTime == NOW, bool(done.conditions)) == (ends, ends)


@pytest.mark.parametrize(
    ("status", "events"),
    [
        ({"succeeded": 3}, []),
        ({"succeeded": 3, "conditions": [{"type": "FailureTarget", "status": "True"}]}, []),
        ({"succeeded": 3, "conditions": [COMPLETE]}, [COMPLETED]),
        ({"succeeded": 4, "conditions": [COMPLETE]}, [("Warning", "TooManySucceededPods", TOO_MANY), COMPLETED]),
        (
            {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "late"}]},
            [("Warning", "DeadlineExceeded", "late")],
        ),
    ],
)
def test_terminal_condition_of_each_reason(status, events):
    assert end_events(job(status)) == events


def test_suspend_and_resume_are_recorded_once():
    status, event = with_suspension(JobStatus(startTime=NOW), suspended=True, now=NOW)
    assert (event, status.startTime, status.conditions[0].status) == ("Suspended", None, "True")
    assert with_suspension(status, suspended=True, now=NOW) == (status, "")
    status, event = with_suspension(status, suspended=False, now=NOW)
    assert (event, status.startTime, status.conditions[0].reason) == ("Resumed", NOW, "JobResumed")
    assert with_suspension(JobStatus(), suspended=False, now=NOW) == (JobStatus(), "")


# Templates


def test_pod_has_its_completion_index():
    result = new_pod(indexed(backoffLimitPerIndex=2), OWNER, 1, last=pod("a", "Failed", index=1, failures=0))
    assert result.metadata.generateName == "j-1-"
    assert result.metadata.labels == {facts.INDEX: "1"}
    assert result.metadata.annotations == {facts.INDEX: "1", facts.INDEX_FAILURES: "1"}
    assert result.metadata.finalizers == [facts.TRACKING]
    assert result.spec.hostname == "j-1"
    assert result.spec.containers[0].env[0].name == "JOB_COMPLETION_INDEX"


def test_ignored_failure_is_recorded_separately():
    ignoring = indexed(backoffLimitPerIndex=2, podFailurePolicy={"rules": [DISRUPTED]})
    last = pod("a", "Failed", index=1, failures=1, conditions=[{"type": "DisruptionTarget", "status": "True"}])
    assert facts.next_failures(last, ignoring) == (1, 1)
    assert facts.next_failures(None, ignoring) == (0, 0)


def test_long_names_are_cut_before_the_index():
    assert generated_prefix("x" * 63, 12) == "x" * 54 + "-12-"


# Metrics


@pytest.fixture
def metrics():
    return JobMetrics(CollectorRegistry())


def samples(metrics, name):
    """Return the values of a counter by its labels' values, without zeros."""
    counter = getattr(metrics, name)
    return {
        tuple(sample.labels.values()): sample.value
        for family in counter.collect()
        for sample in family.samples
        if sample.name.endswith("_total") and sample.value
    }


def test_metrics_count_pods_by_which_a_status_grows(metrics):
    metrics.count_status(job({"succeeded": 1, "failed": 2}), JobStatus(succeeded=3, failed=3))
    metrics.count_status(job(), JobStatus())
    assert samples(metrics, "_pods") == {("NonIndexed", "succeeded"): 2, ("NonIndexed", "failed"): 1}
    assert samples(metrics, "_indexes") == {}


@pytest.mark.parametrize(("limits", "label"), [({}, "global"), ({"backoffLimitPerIndex": 1}, "perIndex")])
def test_metrics_count_indexes_by_which_a_status_grows(metrics, limits, label):
    before = indexed({"completedIndexes": "0", "failedIndexes": ""}, completions=5, **limits)
    metrics.count_status(before, JobStatus(completedIndexes="0-2", failedIndexes="4"))
    metrics.count_status(before, JobStatus())
    assert samples(metrics, "_indexes") == {("succeeded", label): 2, ("failed", label): 1}
    assert samples(metrics, "_pods") == {("Indexed", "succeeded"): 2}


@pytest.mark.parametrize(
    ("pods", "spec", "reason"),
    [
        ([], {}, "new"),
        ([pod("a", "Failed")], {}, "recreate_terminating_or_failed"),
        ([pod("a", deleted=True)], {}, "recreate_terminating_or_failed"),
        ([pod("a", "Failed")], {"podReplacementPolicy": "Failed"}, "recreate_failed"),
        ([], {"podReplacementPolicy": "Failed"}, "new"),
    ],
)
def test_metrics_count_creations_by_reason(metrics, pods, spec, reason):
    metrics.count_creations(see(job(**spec), *pods), succeeded=2, failed=1)
    assert samples(metrics, "_creations") == {(reason, "succeeded"): 2, (reason, "failed"): 1}


def test_metrics_count_reconciles_by_result_and_action(metrics):
    seconds = iter([0, 1, 10, 12]).__next__
    with metrics.sync(job(), seconds) as sync:
        sync.action = SyncAction.PODS_CREATED
    with pytest.raises(RuntimeError), metrics.sync(job(completionMode="Indexed", completions=1), seconds):
        raise RuntimeError
    succeeded, failed = ("NonIndexed", "success", "pods_created"), ("Indexed", "error", "reconciling")
    assert samples(metrics, "_syncs") == {succeeded: 1, failed: 1}
    assert {labels: metrics._sync_seconds.labels(*labels)._sum.get() for labels in (succeeded, failed)} == {
        succeeded: 1,
        failed: 2,
    }


def test_metrics_count_actions_of_counted_failures(metrics):
    rules = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}]}
    seen = see(job(podFailurePolicy=rules), pod("a", "Failed", exit_code=7), pod("b", "Failed", exit_code=8))
    accounting = account(seen, JobStatus(), None, now=NOW)
    assert accounting.status.uncountedTerminatedPods.failed == ["b"]
    metrics.count_actions(accounting.policy_actions)
    assert samples(metrics, "_actions") == {("Ignore",): 1}


@pytest.mark.parametrize(
    ("change", "event"),
    [
        (Added(pod("a", "Failed")), "add"),
        (Updated(pod("a"), pod("a", "Succeeded")), "add"),
        (Updated(pod("a", "Failed"), pod("a", "Failed", tracked=False)), "delete"),
        (Deleted(pod("a", "Failed")), "delete"),
        (Deleted(pod("a", "Failed", tracked=False)), None),
        (Added(pod("a")), None),
    ],
)
def test_metrics_count_finished_pods_with_the_finalizer(metrics, change, event):
    metrics.count_tracked(change)
    assert samples(metrics, "_tracked") == ({(event,): 1} if event else {})


# On a server


async def run(cluster, name="j", **spec):
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    await cluster.make("batch/v1", "Job", name, namespace="default", spec={"template": template, **spec})
    return await cluster.start(build)


async def pods_of(cluster):
    return await cluster.client.list(Pod, namespace="default")


async def set_phase(cluster, target, phase):
    patch = {"status": {"phase": phase}}
    await cluster.client.patch(Pod, target.metadata.name, patch, namespace="default", subresource="status")


def ended(condition_type):
    return lambda obj: any(condition["type"] == condition_type for condition in obj["status"].get("conditions", []))


async def test_job_runs_to_completion(cluster):
    controller = await run(cluster, completions=2, parallelism=2)
    await cluster.until(lambda: have(cluster, 2))
    for item in await pods_of(cluster):
        await set_phase(cluster, item, "Succeeded")
    obj = await cluster.eventually("batch/v1", "Job", "j", ended("Complete"), namespace="default")
    assert obj["status"]["succeeded"] == 2
    assert [item.metadata.finalizers for item in await pods_of(cluster)] == [None, None]
    await cluster.until(lambda: cluster.events("Completed"))
    labels = {"completion_mode": "NonIndexed", "result": "succeeded", "reason": "CompletionsReached"}
    assert cluster.sample(controller, "job_controller_jobs_finished_total", labels) == 1
    labels = {"completion_mode": "NonIndexed", "result": "succeeded"}
    assert cluster.sample(controller, "job_controller_job_pods_finished_total", labels) == 2
    labels = {"reason": "new", "status": "succeeded"}
    assert cluster.sample(controller, "job_controller_job_pods_creation_total", labels) == 2
    labels = {"event": "add"}
    assert cluster.sample(controller, "job_controller_terminated_pods_tracking_finalizer_total", labels) == 2


async def have(cluster, count):
    return len(await pods_of(cluster)) == count


async def test_failed_creation_is_retried_after_a_second(cluster, clock, conflicts):
    conflicts.add("POST", "/pods")
    await run(cluster)
    await cluster.until(lambda: cluster.events("FailedCreate"))
    await clock.advance(0.9)
    assert await pods_of(cluster) == []
    await cluster.until(lambda: pods_of(cluster), within_seconds=1)


async def test_failed_job_deletes_active_pods(cluster):
    await run(cluster, completions=2, parallelism=2, backoffLimit=0)
    await cluster.until(lambda: have(cluster, 2))
    await set_phase(cluster, (await pods_of(cluster))[0], "Failed")
    obj = await cluster.eventually("batch/v1", "Job", "j", ended("Failed"), namespace="default")
    assert (obj["status"]["failed"], obj["status"].get("active")) == (2, None)
    assert len(await pods_of(cluster)) == 1


async def test_active_deadline_fails_a_job(cluster, clock):
    await run(cluster, activeDeadlineSeconds=100)
    await cluster.until(lambda: have(cluster, 1))
    await clock.advance(98)
    assert await have(cluster, 1)
    await cluster.eventually("batch/v1", "Job", "j", ended("Failed"), namespace="default", within_seconds=5)
    assert await have(cluster, 0)


async def test_finalizers_of_pods_of_a_deleted_job_are_removed(cluster):
    await run(cluster)
    await cluster.until(lambda: have(cluster, 1))
    await cluster.client.delete(tree("batch/v1", "Job"), "j", namespace="default", propagation_policy="Background")
    await cluster.until(lambda: finalizers_removed(cluster))


async def finalizers_removed(cluster):
    return all(not item.metadata.finalizers for item in await pods_of(cluster))


async def test_job_managed_by_another_controller_is_ignored(cluster, clock):
    await run(cluster, managedBy="example.com/other")
    await clock.advance(5)
    assert await have(cluster, 0)
