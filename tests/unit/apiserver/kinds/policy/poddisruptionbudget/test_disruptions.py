from __future__ import annotations

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.kinds.policy.poddisruptionbudget import disruptions

LABELS = {"a": "b"}


def pod(phase: str = "Running", *, ready: bool = True, **metadata: object) -> dict[str, object]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "metadata": {"name": "p", "labels": LABELS, **metadata},
        "status": {"phase": phase, "conditions": conditions},
    }


def budget(*, spec: dict[str, object] | None = None, **status: object) -> dict[str, object]:
    return {
        "metadata": {"name": "b", "generation": 1},
        "spec": {"selector": {"matchLabels": LABELS}} if spec is None else spec,
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": 0,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            **status,
        },
    }


@pytest.mark.parametrize(
    ("selector", "guards"),
    [
        ({"matchLabels": LABELS}, True),
        ({"matchLabels": {"a": "c"}}, False),
        ({}, True),
        (None, False),
        ({"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}, False),
    ],
)
def test_guarding_returns_budgets_that_select_pod(selector, guards):
    one = budget(spec={"selector": selector})
    assert disruptions.guarding([one], pod()) == [one][: int(guards)]


@pytest.mark.parametrize(
    ("phase", "metadata", "guarded", "terminal"),
    [
        ("Running", {}, True, False),
        ("Unknown", {}, True, False),
        ("Pending", {}, False, False),
        ("Succeeded", {}, False, True),
        ("Failed", {}, False, True),
        ("Running", {"deletionTimestamp": "then"}, False, True),
    ],
)
def test_is_guarded_by_phase_and_deletion(phase, metadata, guarded, terminal):
    one = pod(phase, **metadata)
    assert (disruptions.is_guarded(one), disruptions.is_terminal(one)) == (guarded, terminal)


@pytest.mark.parametrize(
    ("ready", "policy", "status", "free"),
    [
        (True, "AlwaysAllow", {}, False),
        (False, "AlwaysAllow", {"currentHealthy": 0}, True),
        (False, "IfHealthyBudget", {}, True),
        (False, None, {}, True),
        (False, None, {"currentHealthy": 0}, False),
        (False, None, {"currentHealthy": 0, "desiredHealthy": 0}, False),
    ],
)
def test_can_ignore_budget_of_unhealthy_pods(ready, policy, status, free):
    assert (
        disruptions.can_ignore_budget(budget(spec={"unhealthyPodEvictionPolicy": policy}, **status), pod(ready=ready))
        is free
    )


def test_take_disruption_counts():
    one = budget(disruptionsAllowed=2, disruptedPods={"q": "then"})
    disruptions.check_and_decrement(one, "p", "now")
    assert one["status"] == budget(disruptionsAllowed=1, disruptedPods={"q": "then", "p": "now"})["status"]


@pytest.mark.parametrize(
    ("before", "time"),
    [
        ([], "now"),
        ([{"type": "DisruptionAllowed", "status": "True", "lastTransitionTime": "then"}], "now"),
        ([{"type": "DisruptionAllowed", "status": "False", "lastTransitionTime": "then"}], "then"),
        ([{"type": "Other", "status": "False", "lastTransitionTime": "then"}], "now"),
    ],
)
def test_take_disruption_sets_condition_when_none_is_left(before, time):
    one = budget(disruptionsAllowed=1, conditions=before)
    disruptions.check_and_decrement(one, "p", "now")
    assert one["status"]["conditions"][-1] == {
        "type": "DisruptionAllowed",
        "status": "False",
        "lastTransitionTime": time,
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": 1,
    }


def refused(one: dict[str, object]) -> StatusError:
    with pytest.raises(StatusError) as error:
        disruptions.check_and_decrement(one, "p", "now")
    return error.value


def condition(**parts: str) -> list[dict[str, str]]:
    return [{"type": "DisruptionAllowed", "status": "False", **parts}]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({}, "needs 1 healthy pods and has 1 currently"),
        (
            {"conditions": condition(reason="SyncFailed", message="oops")},
            "does not allow evicting pods currently because it failed sync: oops",
        ),
        (
            {"currentHealthy": 2, "conditions": condition(reason="R", message="m")},
            "does not allow evicting pods currently (R): m",
        ),
        ({"currentHealthy": 2}, "does not allow evicting pods currently"),
    ],
)
def test_check_disruption_explains_exhausted_budget(status, message):
    error = refused(budget(**status))
    assert (error.code, error.retry_after_seconds) == (429, None)
    assert error.causes == [{"reason": "DisruptionBudget", "message": f"The disruption budget b {message}"}]


def test_check_disruption_is_retriable_when_generation_is_not_observed():
    error = refused(budget(observedGeneration=0, disruptionsAllowed=1))
    assert (error.code, error.headers) == (429, {"Retry-After": "10"})
    assert error.causes[0]["message"] == "The disruption budget b is still being processed by the server."


@pytest.mark.parametrize(
    "status",
    [{"disruptionsAllowed": -1}, {"disruptionsAllowed": 1, "disruptedPods": {str(n): "then" for n in range(2001)}}],
)
def test_check_disruption_is_forbidden_for_invalid_status(status):
    error = refused(budget(**status))
    assert (error.code, error.details) == (403, {"name": "b", "group": "policy", "kind": "poddisruptionbudget"})
