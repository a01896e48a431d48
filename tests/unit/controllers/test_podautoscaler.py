from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.autoscaling_v2 import HorizontalPodAutoscalerBehavior, MetricSpec
from lightkube.models.core_v1 import Pod

from steersman.client import tree
from steersman.controllers.podautoscaler.controller import build
from steersman.controllers.podautoscaler.proposals import Measuring, Target, failure_of
from steersman.controllers.podautoscaler.replicas import (
    Measured,
    MetricError,
    Outcome,
    Timing,
    Tolerance,
    by_average,
    by_share,
    by_utilization,
    by_value,
    group,
    requests_of,
)
from steersman.controllers.podautoscaler.scaling import (
    History,
    Limits,
    TimestampedValue,
    normalize,
    normalize_with_behavior,
)

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
TIMING = Timing(NOW)
WITHIN = Tolerance()


def pod(
    name, *, ready="True", phase="Running", started=3600, changed=3500, deleted=False, request="100m", sidecar=None
):
    def ago(seconds):
        return NOW - timedelta(seconds=seconds)

    def container(called, asks, **more):
        return {"name": called, "resources": {"requests": {"cpu": asks}} if asks else {}, **more}

    metadata = {"name": name, "namespace": "ns", **({"deletionTimestamp": NOW} if deleted else {})}
    rows = [{"type": "Ready", "status": ready, "lastTransitionTime": ago(changed)}] if ready else []
    status = {"phase": phase, "startTime": ago(started), "conditions": rows}
    init = [container("s", sidecar, restartPolicy="Always"), container("i", "9")] if sidecar else []
    spec = {"containers": [container("c", request)], "initContainers": init}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)


def measured(**milli):
    return {name: Measured(value, NOW, 30) for name, value in milli.items()}


@pytest.mark.parametrize(
    ("obj", "metric", "expected"),
    [
        (pod("p"), {"p": 1}, "ready"),
        (pod("p"), {}, "missing"),
        (pod("p", deleted=True), {"p": 1}, "ignored"),
        (pod("p", phase="Failed"), {"p": 1}, "ignored"),
        (pod("p", phase="Pending"), {"p": 1}, "unready"),
        (pod("p", ready=None), {"p": 1}, "unready"),
        (pod("p", ready="False", started=60), {"p": 1}, "unready"),
        (pod("p", started=60, changed=50), {"p": 1}, "ready"),
        (pod("p", started=60, changed=10), {"p": 1}, "unready"),
        (pod("p", ready="False", started=3600, changed=3590), {"p": 1}, "unready"),
        (pod("p", ready="False", started=3600, changed=10), {"p": 1}, "ready"),
    ],
)
def test_pods_are_grouped_by_readiness_and_metric(obj, metric, expected):
    groups = group([obj], measured(**metric), "cpu", TIMING)
    shown = {"ready": groups.ready, "unready": groups.unready, "missing": groups.missing, "ignored": groups.ignored}
    assert [name for name, value in shown.items() if value] == [expected]


def test_requests_of_pods():
    assert requests_of([pod("p", sidecar="50m")], "cpu") == {"p": 150}
    assert requests_of([pod("p", sidecar="50m")], "cpu", container="s") == {"p": 50}
    with pytest.raises(MetricError, match="missing request for cpu in container c of Pod p"):
        requests_of([pod("p", request=None)], "cpu")
    with pytest.raises(MetricError, match="container x not found in Pod p"):
        requests_of([pod("p")], "cpu", container="x")


PODS = [pod(name) for name in "abc"]


@pytest.mark.parametrize(
    ("pods", "metric", "percent", "expected"),
    [
        (PODS, {"a": 100, "b": 100, "c": 100}, 50, Outcome(6, 100, 100)),
        (PODS, {"a": 52, "b": 52, "c": 52}, 50, Outcome(3, 52, 52)),
        (PODS, {"a": 10, "b": 10, "c": 10}, 50, Outcome(1, 10, 10)),
        # the missing one counts as fully used when scaling down, and as idle when scaling up
        (PODS, {"a": 10, "b": 10}, 50, Outcome(3, 10, 10)),
        (PODS, {"a": 100, "b": 100}, 50, Outcome(4, 100, 100)),
        (PODS, {"a": 70, "b": 70}, 60, Outcome(3, 70, 70)),
        ([*PODS, pod("d", ready=None)], {"a": 200, "b": 200, "c": 200, "d": 900}, 50, Outcome(12, 200, 200)),
        ([*PODS, pod("d", phase="Failed")], {"a": 100, "b": 100, "c": 100, "d": 900}, 50, Outcome(6, 100, 100)),
    ],
)
def test_replicas_by_utilization(pods, metric, percent, expected):
    requests = requests_of(pods, "cpu")
    result = by_utilization(
        3, percent, pods, measured(**metric), "cpu", requests=requests, tolerance=WITHIN, timing=TIMING
    )
    assert result == expected


@pytest.mark.parametrize(
    ("pods", "metric", "fault"),
    [
        ([], {}, "no pods returned by selector while calculating replica count"),
        (PODS, {}, "did not receive metrics for targeted pods"),
        (PODS, {"x": 1}, "no metrics returned matched known pods"),
    ],
)
def test_metric_errors_have_reasons(pods, metric, fault):
    with pytest.raises(MetricError, match=fault):
        by_utilization(
            3, 50, pods, measured(**metric), "cpu", requests=requests_of(pods, "cpu"), tolerance=WITHIN, timing=TIMING
        )


def test_replicas_by_average():
    result = by_average(3, 1000, PODS, measured(a=2000, b=2000, c=2000), tolerance=WITHIN, timing=TIMING)
    assert result == Outcome(6, 2000)


def test_replicas_by_average_at_the_target_count_pods_without_metrics_as_idle():
    assert by_average(3, 1000, PODS, measured(a=1000, b=1000), tolerance=WITHIN, timing=TIMING) == Outcome(2, 1000)
    assert by_average(3, 1000, PODS, measured(a=999, b=999), tolerance=WITHIN, timing=TIMING) == Outcome(3, 999)


def test_replicas_by_one_value():
    assert by_value(3, 2000, 1000, PODS, tolerance=WITHIN) == Outcome(6, 2000)
    assert by_value(3, 1050, 1000, [], tolerance=WITHIN) == Outcome(3, 1050)
    assert by_value(0, 2500, 1000, [], tolerance=WITHIN) == Outcome(3, 2500)
    with pytest.raises(MetricError):
        by_value(3, 2000, 1000, [], tolerance=WITHIN)


def test_replicas_by_share():
    assert by_share(3, 9000, 1000, tolerance=WITHIN) == Outcome(9, 3000)
    assert by_share(3, 3100, 1000, tolerance=WITHIN) == Outcome(3, 1034)
    assert by_share(0, 1500, 1000, tolerance=WITHIN) == Outcome(2, 1500)


def normalized(current, expected, *recent, least=1, most=10):
    history = History([TimestampedValue(at, value) for at, value in recent])
    return normalize(history, current, expected, Limits(least, most), window_seconds=300, now=1000)


@pytest.mark.parametrize(
    ("obj", "replicas", "able", "limited"),
    [
        (normalized(3, 3), 3, "ReadyForNewScale", "DesiredWithinRange"),
        (normalized(5, 2, (900, 4), (600, 9)), 4, "ScaleDownStabilized", "DesiredWithinRange"),
        (normalized(1, 9), 4, "ReadyForNewScale", "ScaleUpLimit"),
        (normalized(3, 9), 6, "ReadyForNewScale", "ScaleUpLimit"),
        (normalized(8, 12), 10, "ReadyForNewScale", "TooManyReplicas"),
        (normalized(3, 0), 1, "ReadyForNewScale", "TooFewReplicas"),
    ],
)
def test_replicas_without_behavior(obj, replicas, able, limited):
    assert (obj.replicas, obj.able[0], obj.limited[0]) == (replicas, able, limited)
    assert obj.is_limited is (limited != "DesiredWithinRange")


def behavior(**rules):
    return msgspec.convert(rules, HorizontalPodAutoscalerBehavior)


def rules(*policies, select="Max", window=0):
    rows = [{"type": type_, "value": value, "periodSeconds": 60} for type_, value in policies]
    return {"policies": rows, "selectPolicy": select, "stabilizationWindowSeconds": window}


UP, DOWN = rules(("Pods", 4), ("Percent", 100)), rules(("Percent", 100))


@pytest.mark.parametrize(
    ("up", "down", "current", "expected", "replicas", "able", "limited"),
    [
        (UP, DOWN, 3, 20, 7, "ReadyForNewScale", "ScaleUpLimit"),
        (rules(("Pods", 4), ("Percent", 50), select="Min"), DOWN, 3, 20, 5, "ReadyForNewScale", "ScaleUpLimit"),
        (rules(select="Disabled"), DOWN, 3, 20, 3, "ReadyForNewScale", "ScaleUpLimit"),
        (UP, DOWN, 18, 30, 20, "ReadyForNewScale", "TooManyReplicas"),
        (UP, DOWN, 10, 0, 1, "ReadyForNewScale", "TooFewReplicas"),
        (UP, rules(("Pods", 2), ("Percent", 50)), 10, 1, 5, "ReadyForNewScale", "ScaleDownLimit"),
        (UP, rules(("Pods", 2), ("Percent", 50), select="Min"), 10, 1, 8, "ReadyForNewScale", "ScaleDownLimit"),
        (UP, rules(select="Disabled"), 10, 1, 10, "ReadyForNewScale", "ScaleDownLimit"),
        (UP, DOWN, 3, 3, 3, "ReadyForNewScale", "DesiredWithinRange"),
        (rules(("Pods", 9), window=60), DOWN, 3, 9, 4, "ScaleUpStabilized", "DesiredWithinRange"),
        (UP, rules(("Pods", 9), window=60), 9, 2, 4, "ScaleDownStabilized", "DesiredWithinRange"),
    ],
)
def test_replicas_with_behavior(up, down, current, expected, replicas, able, limited):
    history = History([TimestampedValue(950, 4)])
    result = normalize_with_behavior(
        history, current, expected, Limits(1, 20), behavior(scaleUp=up, scaleDown=down), window_seconds=300, now=1000
    )
    assert (result.replicas, result.able[0], result.limited[0]) == (replicas, able, limited)


def test_policies_count_changes_within_their_period():
    history, both = History(), behavior(scaleUp=rules(("Pods", 4)), scaleDown=DOWN)
    history.scaled(3, 6, None, now=900)
    history.scaled(3, 6, both, now=980)
    result = normalize_with_behavior(history, 6, 20, Limits(1, 20), both, window_seconds=0, now=1000)
    assert result.replicas == 7
    result = normalize_with_behavior(history, 6, 20, Limits(1, 20), both, window_seconds=0, now=1050)
    assert result.replicas == 10
    history.scaled(6, 5, both, now=1060)
    assert (history.scale_ups, history.scale_downs) == ([TimestampedValue(980, 3)], [TimestampedValue(1060, 1)])


class FakeAPI:
    async def resource(self, name, namespace, selector, *, container=""):
        return measured(a=100, b=100, c=100)

    async def of_pods(self, metric, namespace, selector):
        return measured(a=3000, b=3000, c=3000)

    async def of_object(self, metric, namespace, described_object):
        return 6000

    async def external(self, metric, namespace):
        raise MetricError("none")


METRIC = {"name": "m"}
WHOSE = {"kind": "Service", "name": "s"}


@pytest.mark.parametrize(
    ("body", "replicas", "metric"),
    [
        (
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
            },
            6,
            "cpu resource utilization (percentage of request)",
        ),
        (
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "50m"}},
            },
            6,
            "cpu resource",
        ),
        (
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "c",
                    "target": {"type": "Utilization", "averageUtilization": 50},
                },
            },
            6,
            "cpu container resource utilization (percentage of request)",
        ),
        (
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "c",
                    "target": {"type": "AverageValue", "averageValue": "50m"},
                },
            },
            6,
            "cpu resource",
        ),
        (
            {"type": "Pods", "pods": {"metric": METRIC, "target": {"type": "AverageValue", "averageValue": "1"}}},
            9,
            "pods metric m",
        ),
        (
            {
                "type": "Object",
                "object": {"metric": METRIC, "describedObject": WHOSE, "target": {"type": "Value", "value": "3"}},
            },
            6,
            "Service metric m",
        ),
        (
            {
                "type": "Object",
                "object": {
                    "metric": METRIC,
                    "describedObject": WHOSE,
                    "target": {"type": "AverageValue", "averageValue": "1"},
                },
            },
            6,
            "external metric m(nil)",
        ),
    ],
)
async def test_proposal_of_each_metric_type(body, replicas, metric):
    measuring = Measuring(FakeAPI(), Target("ns", "app=a", PODS, 3, 3), WITHIN, TIMING)
    proposal = await measuring.propose(msgspec.convert(body, MetricSpec))
    assert (proposal.replicas, proposal.metric, proposal.status.type) == (replicas, metric, body["type"])


AVERAGE = {"type": "AverageValue", "averageValue": "1"}
VALUE = {"type": "Value", "value": "1"}


@pytest.mark.parametrize(
    ("type_", "source", "reason", "prefix"),
    [
        (
            "Resource",
            {"name": "cpu", "target": AVERAGE},
            "FailedGetResourceMetric",
            "failed to get cpu resource metric value",
        ),
        (
            "ContainerResource",
            {"name": "cpu", "container": "c", "target": AVERAGE},
            "FailedGetContainerResourceMetric",
            "failed to get c container metric value",
        ),
        ("Pods", {"metric": METRIC, "target": AVERAGE}, "FailedGetPodsMetric", "failed to get pods metric value"),
        (
            "Object",
            {"metric": METRIC, "describedObject": WHOSE, "target": VALUE},
            "FailedGetObjectMetric",
            "failed to get object metric value",
        ),
        (
            "Object",
            {"metric": METRIC, "describedObject": WHOSE, "target": AVERAGE},
            "FailedGetObjectMetric",
            "failed to get object metric value: failed to get m object metric",
        ),
        (
            "External",
            {"metric": METRIC, "target": VALUE},
            "FailedGetExternalMetric",
            "failed to get m external metric value: failed to get external metric m",
        ),
        (
            "External",
            {"metric": METRIC, "target": AVERAGE},
            "FailedGetExternalMetric",
            "failed to get m external metric value: failed to get m external metric",
        ),
    ],
)
def test_metric_error_has_upstreams_prefix(type_, source, reason, prefix):
    field = type_[0].lower() + type_[1:]
    assert failure_of(msgspec.convert({"type": type_, field: source}, MetricSpec)) == (reason, prefix)


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        (None, "nil"),
        (
            {"matchLabels": {"q": "a"}},
            "&LabelSelector{MatchLabels:map[string]string{q: a,},MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
    ],
)
async def test_unavailable_external_metric_is_reported(selector, shown):
    source = {"metric": {**METRIC, "selector": selector}, "target": VALUE}
    spec = msgspec.convert({"type": "External", "external": source}, MetricSpec)
    measuring = Measuring(FakeAPI(), Target("ns", "app=a", PODS, 3, 3), WITHIN, TIMING)
    with pytest.raises(MetricError) as caught:
        await measuring.propose(spec)
    assert str(caught.value) == f"unable to get external metric ns/m/{shown}: none"


HPA = ("autoscaling/v2", "HorizontalPodAutoscaler", "web")


async def make_target(cluster, *, replicas, api_version="v1", kind="ReplicationController"):
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"app": "a"}, "template": template}
    await cluster.make("v1", "ReplicationController", "web", namespace="default", spec=spec)
    metrics = [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    ]
    spec = {
        "minReplicas": 2,
        "maxReplicas": 5,
        "scaleTargetRef": {"apiVersion": api_version, "kind": kind, "name": "web"},
        "metrics": metrics,
    }
    await cluster.make(*HPA, namespace="default", spec=spec)


def says(type_, reason):
    def matches(obj):
        rows = (obj.get("status") or {}).get("conditions", ())
        return any((row["type"], row["reason"]) == (type_, reason) for row in rows)

    return matches


@pytest.mark.parametrize(("replicas", "expected"), [(9, 5), (1, 2)])
async def test_bounds_need_no_metrics(cluster, replicas, expected):
    await cluster.start(build)
    await make_target(cluster, replicas=replicas)
    await cluster.eventually(
        "v1", "ReplicationController", "web", lambda obj: obj["spec"]["replicas"] == expected, namespace="default"
    )
    obj = await cluster.eventually(*HPA, says("AbleToScale", "SucceededRescale"), namespace="default")
    assert obj["status"]["desiredReplicas"] == expected


async def test_reconcile_keeps_the_scale_without_metrics(cluster):
    await cluster.start(build)
    await make_target(cluster, replicas=3)
    obj = await cluster.eventually(*HPA, says("ScalingActive", "FailedGetResourceMetric"), namespace="default")
    assert obj["status"]["currentReplicas"] == 3
    assert await cluster.events("FailedComputeMetricsReplicas")


async def test_reconcile_reports_a_missing_target(cluster):
    await cluster.start(build)
    await make_target(cluster, replicas=3, api_version="apps/v1", kind="Deployment")
    await cluster.eventually(*HPA, says("AbleToScale", "FailedGetScale"), namespace="default")


async def test_reconcile_finds_the_target_when_its_version_is_not_served(cluster):
    await cluster.start(build)
    spec = {"maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1beta1", "kind": "Deployment", "name": "web"}}
    await cluster.make(*HPA, namespace="default", spec=spec)
    obj = await cluster.eventually(*HPA, says("AbleToScale", "FailedGetScale"), namespace="default")
    (condition,) = obj["status"]["conditions"]
    assert condition["message"].endswith('deployments.apps "web" not found')


async def serve_metrics(cluster):
    """Serve the resource metrics API with a custom resource."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": "metrics.k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "pods", "singular": "pod", "kind": "PodMetrics", "listKind": "PodMetricsList"},
        "versions": [{"name": "v1beta1", "served": True, "storage": True, "schema": schema}],
    }
    approved = {"annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}}
    kind = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "pods.metrics.k8s.io")
    await cluster.make(*kind, metadata=approved, spec=spec)

    def is_served(obj):
        return any(
            (row["type"], row["status"]) == ("Established", "True")
            for row in (obj.get("status") or {}).get("conditions") or ()
        )

    await cluster.eventually(*kind, is_served)


async def test_reconcile_scales_up_under_load(cluster, pod_spec):
    await serve_metrics(cluster)
    await cluster.start(build)
    requests = {"resources": {"requests": {"cpu": "100m"}}}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "startTime": "2020-01-01T00:00:00Z",
    }
    for name in ("a", "b"):
        spec = {"containers": [{**pod_spec["containers"][0], **requests}]}
        labels = {"labels": {"app": "a"}}
        await cluster.make("v1", "Pod", name, namespace="default", metadata=labels, spec=spec, status=status)
        body = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": {"name": name, **labels},
                "timestamp": "2026-01-01T00:00:00Z", "window": "30s",
                "containers": [{"name": "c", "usage": {"cpu": "100m"}}]}  # fmt: skip
        await cluster.client.create(body, namespace="default")
    await make_target(cluster, replicas=2)
    await cluster.eventually(
        "v1", "ReplicationController", "web", lambda obj: obj["spec"]["replicas"] == 4, namespace="default"
    )
    obj = await cluster.eventually(*HPA, says("ScalingActive", "ValidMetricFound"), namespace="default")
    assert obj["status"]["currentMetrics"][0]["resource"]["current"] == {
        "averageUtilization": 100,
        "averageValue": "100m",
    }
    (event,) = await cluster.events("SuccessfulRescale")
    assert event["message"] == "New size: 4; reason: cpu resource utilization (percentage of request) above target"
    assert await cluster.client.list(tree("v1", "Pod"), namespace="default")


async def test_reconcile_ignores_an_autoscaler_with_another_target(cluster, pod_spec):
    await cluster.start(build)
    await cluster.make("v1", "Pod", "a", namespace="default", metadata={"labels": {"app": "a"}}, spec=pod_spec)
    await make_target(cluster, replicas=3)
    spec = (await cluster.find(*HPA, namespace="default"))["spec"]
    await cluster.make(*HPA[:2], "rival", namespace="default", spec=spec)
    await cluster.eventually(*HPA, says("ScalingActive", "AmbiguousSelector"), namespace="default")
    elsewhere = {"spec": {"scaleTargetRef": {**spec["scaleTargetRef"], "name": "gone"}}}
    await cluster.client.patch(tree(*HPA[:2]), "rival", elsewhere, namespace="default")
    await cluster.eventually(*HPA, says("ScalingActive", "FailedGetResourceMetric"), namespace="default")


async def test_autoscalers_of_one_target_with_different_bounds_leave_it_alone(cluster, pod_spec):
    """One that the bounds of the other let move nothing would else move it back for ever."""
    await cluster.start(build)
    await cluster.make("v1", "Pod", "a", namespace="default", metadata={"labels": {"app": "a"}}, spec=pod_spec)
    await make_target(cluster, replicas=4)
    spec = (await cluster.find(*HPA, namespace="default"))["spec"]
    await cluster.make(*HPA[:2], "rival", namespace="default", spec={**spec, "maxReplicas": 3})
    await cluster.eventually(
        "v1", "ReplicationController", "web", lambda obj: obj["spec"]["replicas"] == 3, namespace="default"
    )
    await cluster.eventually(*HPA, says("ScalingActive", "AmbiguousSelector"), namespace="default", within_seconds=16)
