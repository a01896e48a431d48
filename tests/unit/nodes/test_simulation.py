"""Containers that end: back-off of restarts, restart policies and rules, OOM kills, evictions, deadlines."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from tests.unit.nodes.simulation.simulated import NOW, Simulation, pod

from steersman.apimachinery.trees import Tree
from steersman.nodes.pod_status import not_created, user_of
from steersman.nodes.simulation.backoff import restart_delay_seconds
from steersman.nodes.simulation.behavior import DURATIONS, EXIT_CODE, IMAGE_PULL_ERROR, PREFIX
from steersman.nodes.simulation.pod_plan import plan
from steersman.nodes.stages import StageContext

NAMES = [name.removeprefix(PREFIX) for name in (*DURATIONS, EXIT_CODE, IMAGE_PULL_ERROR)]


def test_crash_loop_follows_the_kubelets_schedule() -> None:
    world = Simulation(pod(annotations={"crash-after-seconds": "0", "exit-code": "3"}))
    seen = world.run(1300)
    starts = [at for at, _, state in seen if state == "Ready"]
    assert starts == [0, 0, 10, 30, 70, 150, 310, 610, 910, 1210]
    assert seen[:6] == [
        (0.0, "Running", "Ready"),
        (0.0, "Running", "Error"),
        (0.0, "Running", "Ready"),
        (0.0, "Running", "Error"),
        (0.0, "Running", "CrashLoopBackOff"),
        (10.0, "Running", "Ready"),
    ]
    status = world.status_of()
    assert status["restartCount"] == 9
    assert status["lastState"]["terminated"]["exitCode"] == 3
    assert status["state"]["waiting"]["message"] == ("back-off 5m0s restarting failed container=c pod=p_default(u)")
    back_off = ("Warning", "BackOff", "Back-off restarting failed container c in pod p_default(u)")
    assert world.events == [back_off] * 9


def test_crash_loop_continues_after_a_restart_of_the_process() -> None:
    """A second simulation of the same pod continues the schedule: all state is in the pod."""
    world = Simulation(pod(annotations={"crash-after-seconds": "0"}))
    world.run(75)
    assert world.status_of()["state"]["waiting"]["message"].startswith("back-off 1m20s ")
    later = Simulation(world.pod, now=NOW + timedelta(seconds=100))
    assert [at for at, _, state in later.run(400) if state == "Ready"] == [150, 310]


def test_back_off_is_reset_after_ten_minutes() -> None:
    world = Simulation(pod(annotations={"crash-after-seconds": "0"}))
    world.run(75)
    world.pod["metadata"]["annotations"]["nodes.steersman.dev/crash-after-seconds"] = "601"
    # It starts at 150, crashes at 751, and restarts at once; the next delay is the first one again.
    starts = [at for at, _, state in world.run(1400) if state == "Ready"]
    assert starts == [150, 751, 1352]
    world.pod["metadata"]["annotations"]["nodes.steersman.dev/crash-after-seconds"] = "60"
    assert [at for at, _, state in world.run(1430) if state == "Ready"] == [1422]


@pytest.mark.parametrize(
    ("waited", "restarts", "delay"),
    [(0, 1, 10), (10, 2, 20), (11, 2, 20), (20, 3, 40), (300, 8, 300), (5000, 2, 20), (5000, 90, 300)],
)
def test_restart_delay_is_derived_from_the_previous_wait(waited: int, restarts: int, delay: int) -> None:
    def run(start: int, end: int) -> Tree:
        times = [(NOW + timedelta(seconds=at)).strftime("%Y-%m-%dT%H:%M:%SZ") for at in (start, end)]
        return {"terminated": {"exitCode": 1, "startedAt": times[0], "finishedAt": times[1]}}

    status = {"restartCount": restarts, "lastState": run(0, 5), "state": run(5 + waited, 6 + waited)}
    assert restart_delay_seconds(status) == delay


@pytest.mark.parametrize(
    ("policy", "code", "phase", "states"),
    [
        ("Never", "0", "Succeeded", ["Ready", "Completed"]),
        ("Never", "3", "Failed", ["Ready", "Error"]),
        ("OnFailure", "0", "Succeeded", ["Ready", "Completed"]),
        ("OnFailure", "3", "Running", ["Ready", "Error", "Ready"]),
        ("Always", "0", "Running", ["Ready", "Completed", "Ready"]),
    ],
)
def test_restart_policy_decides_on_a_restart(policy: str, code: str, phase: str, states: list[str]) -> None:
    world = Simulation(pod(annotations={"run-seconds": "5", "exit-code": code}, restartPolicy=policy))
    assert [state for _, _, state in world.run(9)] == states
    assert world.pod["status"]["phase"] == phase
    ready = "True" if phase == "Running" else "False"
    assert world.conditions()["Ready"] == ready


def rule(operator: str, code: int, action: str = "Restart") -> Tree:
    return {"action": action, "exitCodes": {"operator": operator, "values": [code]}}


@pytest.mark.parametrize(
    ("container", "code", "restarts"),
    [
        ({"restartPolicy": "Always"}, 1, True),
        ({"restartPolicy": "OnFailure"}, 0, False),
        ({"restartPolicy": "Never"}, 1, False),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule("In", 42)]}, 42, True),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule("In", 42)]}, 41, False),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule("NotIn", 42)]}, 41, True),
    ],
)
def test_restart_rules_of_a_container_precede_the_pods_policy(container: Tree, code: int, restarts: bool) -> None:
    notes = {"run-seconds": "1", "exit-code": str(code)}
    world = Simulation(pod(annotations=notes, container=container, restartPolicy="Never"))
    world.run(1)
    assert world.status_of()["restartCount"] == int(restarts)


def test_restart_all_containers_runs_init_containers_again() -> None:
    new_pod = pod(
        annotations={"run-seconds.c": "5", "exit-code.c": "88"},
        container={"restartPolicy": "Never", "restartPolicyRules": [rule("In", 88, "RestartAllContainers")]},
        initContainers=[{"name": "i", "image": "i"}],
        restartPolicy="Never",
    )
    new_pod["spec"]["containers"].append({"name": "d", "image": "i"})
    world = Simulation(new_pod)
    seen = world.run(6)
    assert seen == [
        (0.0, "Running", "Completed", "Ready", "Ready"),
        (5.0, "Running", "Completed", "Error", "Ready"),
        (5.0, "Pending", *["RestartingAllContainers"] * 3),
        (5.0, "Running", "Completed", "Ready", "Ready"),
    ]
    assert [status["restartCount"] for status in world.statuses()] == [1, 1, 1]


def test_oom_kill_has_its_reason_and_exit_code() -> None:
    world = Simulation(pod(annotations={"oom-after-seconds": "7", "run-seconds": "9"}))
    assert [item[2] for item in world.run(8)] == ["Ready", "OOMKilled", "Ready"]
    last = world.status_of()["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"], last["finishedAt"]) == ("OOMKilled", 137, "2026-01-02T03:04:12Z")


def test_eviction_fails_the_pod() -> None:
    world = Simulation(pod(annotations={"evict-after-seconds": "30", "evict-resource": "ephemeral-storage"}))
    assert world.run(40) == [(0.0, "Running", "Ready"), (30.0, "Failed", "Error")]
    status = world.pod["status"]
    message = "The node was low on resource: ephemeral-storage. "
    assert (status["reason"], status["message"]) == ("Evicted", message)
    assert world.events == [("Warning", "Evicted", message)]
    target = next(condition for condition in status["conditions"] if condition["type"] == "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
    assert world.status_of()["state"]["terminated"]["exitCode"] == 137


def test_deadline_ends_a_pod_whose_image_cannot_be_pulled() -> None:
    world = Simulation(pod(container={"image": "x:does-not-exist"}, activeDeadlineSeconds=15))
    assert world.run(60)[-1][:2] == (15.0, "Failed")
    assert world.pod["status"]["reason"] == "DeadlineExceeded"


def test_failing_init_container_backs_off_or_fails_the_pod() -> None:
    notes = {"exit-code.i": "1"}
    world = Simulation(pod(annotations=notes, initContainers=[{"name": "i", "image": "i"}]))
    assert world.run(9) == [
        (0.0, "Pending", "Error", "PodInitializing"),
        (0.0, "Pending", "Error", "PodInitializing"),
        (0.0, "Pending", "CrashLoopBackOff", "PodInitializing"),
    ]
    world = Simulation(pod(annotations=notes, initContainers=[{"name": "i", "image": "i"}], restartPolicy="Never"))
    assert world.run(9) == [(0.0, "Failed", "Error", "PodInitializing")]


def test_job_pod_completes_at_once_unless_stages_never_end() -> None:
    owner = {"kind": "Job", "name": "j", "controller": True}
    for ends, states in ((True, ["Ready", "Completed"]), (False, ["Ready"])):
        new_pod = pod(restartPolicy="Never")
        new_pod["metadata"]["ownerReferences"] = [owner]
        assert [state for _, _, state in Simulation(new_pod, ends=ends).run(3600)] == states


def test_sidecar_ends_with_the_pod() -> None:
    sidecar = {"name": "s", "image": "s", "restartPolicy": "Always"}
    world = Simulation(pod(annotations={"run-seconds.c": "5"}, initContainers=[sidecar], restartPolicy="Never"))
    assert world.run(9) == [(0.0, "Running", "Ready", "Ready"), (5.0, "Succeeded", "Completed", "Completed")]


def test_container_statuses_report_volume_mounts_in_every_state() -> None:
    mounts = [
        {"name": "data", "mountPath": "/data", "subPath": "a"},
        {"name": "token", "mountPath": "/token", "readOnly": True, "recursiveReadOnly": "IfPossible"},
    ]
    world = Simulation(pod(annotations={"crash-after-seconds.c": "5"}, container={"volumeMounts": mounts}))
    reported = [
        {"name": "data", "mountPath": "/data"},
        {"name": "token", "mountPath": "/token", "readOnly": True, "recursiveReadOnly": "Disabled"},
    ]
    for seconds, state in ((1, "running"), (11, "waiting")):
        world.run(seconds)
        (status,) = world.statuses()
        assert (list(status["state"]), status["volumeMounts"]) == ([state], reported)
    assert not_created({"name": "c", "volumeMounts": mounts}, {})["volumeMounts"] == reported
    assert "volumeMounts" not in not_created({"name": "c"}, {})


@pytest.mark.parametrize("requests", [{}, {"cpu": "1"}])
def test_container_statuses_report_resources_and_user_once_created(requests: Tree) -> None:
    resources = {"requests": requests} if requests else {}
    init = {"name": "i", "image": "i", "command": ["sleep", "2"]}
    container = {"resources": resources} if resources else {}
    world = Simulation(
        pod(annotations={"crash-after-seconds.c": "5"}, container=container, initContainers=[init]),
    )
    world.run(1)
    waiting = world.status_of()
    assert "waiting" in waiting["state"]
    assert not {"resources", "allocatedResources", "user"} & waiting.keys()
    for seconds, state in ((4, "running"), (14, "waiting")):
        world.run(seconds)
        status = world.status_of()
        assert (list(status["state"]), status["resources"]) == ([state], resources)
        assert status.get("allocatedResources", {}) == requests
        assert status["user"] == {"linux": {"uid": 0, "gid": 0, "supplementalGroups": [0]}}


@pytest.mark.parametrize(
    ("of_pod", "of_container", "expected"),
    [
        ({"runAsUser": 1000}, {}, (1000, 0, [0])),
        ({"runAsUser": 1000, "runAsGroup": 2}, {"runAsUser": 0}, (0, 2, [2])),
        ({"fsGroup": 5, "supplementalGroups": [7, 3]}, {"runAsGroup": 3}, (0, 3, [3, 5, 7])),
        ({"runAsNonRoot": True}, {"runAsUser": 9}, (9, 0, [0])),
        ({"runAsNonRoot": True}, {}, None),
    ],
)
def test_container_user_follows_the_security_contexts(
    of_pod: Tree, of_container: Tree, expected: tuple[int, int, list[int]] | None
) -> None:
    container = {"name": "c", "securityContext": of_container}
    user = user_of(pod(securityContext=of_pod), container)
    linux = {"linux": dict(zip(("uid", "gid", "supplementalGroups"), expected, strict=True))} if expected else None
    assert user == ({"user": linux} if linux else {})
    assert user_of(pod(securityContext=of_pod, os={"name": "windows"}), container) == {}


def test_container_that_must_not_run_as_root_is_not_created_with_user_0() -> None:
    container = {"securityContext": {"runAsUser": 0}}
    world = Simulation(pod(container=container, securityContext={"runAsNonRoot": True, "runAsUser": 1000}))
    world.run(1)
    message = 'container\'s runAsUser breaks non-root policy (pod: "p_default(u)", container: c)'
    assert world.status_of()["state"] == {"waiting": {"reason": "CreateContainerConfigError", "message": message}}
    assert world.pod["status"]["phase"] == "Pending"
    assert ("Warning", "Failed", f"Error: {message}") in world.events


def test_container_suffix_of_an_annotation_takes_precedence() -> None:
    new_pod = pod(annotations={"crash-after-seconds": "5", "crash-after-seconds.d": "8"})
    new_pod["spec"]["containers"].append({"name": "d", "image": "i"})
    assert Simulation(new_pod).run(8)[1:] == [
        (5.0, "Running", "Error", "Ready"),
        (5.0, "Running", "Ready", "Ready"),
        (8.0, "Running", "Ready", "Error"),
        (8.0, "Running", "Ready", "Ready"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("run-seconds", "soon", 'nodes.steersman.dev/run-seconds: "soon" is not a number of seconds'),
        ("oom-after-seconds.c", "-1", 'nodes.steersman.dev/oom-after-seconds.c: "-1" is not a number of seconds'),
        ("start-seconds", "inf", 'nodes.steersman.dev/start-seconds: "inf" is not a number of seconds'),
        ("exit-code", "256", 'nodes.steersman.dev/exit-code: "256" is not an exit code from 0 to 255'),
        (
            "evict-resource",
            "cpu",
            'nodes.steersman.dev/evict-resource: "cpu" is not one of memory, ephemeral-storage, inodes, pids',
        ),
    ],
)
def test_invalid_annotation_is_reported_by_an_event(name: str, value: str, message: str) -> None:
    world = Simulation(pod(annotations={name: value}))
    assert world.run(60) == [(0.0, "Running", "Ready")]
    assert world.events == [("Warning", "InvalidAnnotation", message)]


def random_status(dice: Random) -> Tree:
    """Return a status as any component may have written it."""
    time = dice.choice(["2026-01-02T03:00:00Z", "2026-01-02T04:00:00Z", None])
    terminated = {"exitCode": dice.choice([0, 1]), "finishedAt": time, "startedAt": dice.choice([time, None])}
    state: Tree = dice.choice(
        [
            {},
            {"running": dice.choice([{}, {"startedAt": time}])},
            {
                "waiting": dice.choice(
                    [{}, {"reason": "CrashLoopBackOff", "message": dice.choice(["", "back-off 1m20s"])}]
                )
            },
            {"terminated": dice.choice([{}, terminated])},
        ]
    )
    last = dice.choice([{}, None, {"terminated": terminated}])
    return {
        "name": dice.choice(["c", "i", "other"]),
        "state": state,
        "lastState": last,
        "restartCount": dice.choice([0, 3]),
    }


def test_statuses_of_other_components_never_break_a_plan() -> None:
    dice = Random(5)
    for _ in range(2000):
        notes = {name: dice.choice(["0", "5", "x", ""]) for name in dice.sample(NAMES, 2)}
        new_pod = pod(
            annotations=notes,
            initContainers=dice.choice([[], [{"name": "i", "image": "i"}], [{"name": "i", "restartPolicy": "Always"}]]),
            restartPolicy=dice.choice(["Always", "OnFailure", "Never"]),
        )
        new_pod["status"] = {
            "phase": dice.choice(["", "Pending", "Running"]),
            "startTime": dice.choice([None, "2026-01-02T03:00:00Z"]),
            "containerStatuses": [random_status(dice) for _ in range(dice.choice([0, 1, 2]))],
            "initContainerStatuses": dice.choice([None, [random_status(dice)]]),
        }
        following = plan(new_pod, StageContext(NOW, "172.16.0.1", "10.1.0.7"), ends=dice.choice([True, False]))
        assert following.due is None or following.status is None
