"""Table row of Pods."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import NOW, STAMP, tree

from steersman.apiserver.kinds.core.pod.table import POD_COLUMNS, pod_cells, pod_row_conditions

ONE = {"containers": [{"name": "c"}]}
READY = {"type": "Ready", "status": "True"}
INITIALIZED = {"type": "Initialized", "status": "True"}


def running(**more: object) -> dict:
    return {"name": "c", "ready": True, "state": {"running": {}}, **more}


def waiting(reason: str = "") -> dict:
    return {"name": "c", "state": {"waiting": {"reason": reason}}}


def terminated(reason: str = "", code: int = 0, signal: int = 0) -> dict:
    return {"name": "c", "state": {"terminated": {"reason": reason, "exitCode": code, "signal": signal}}}


def row(status: dict | None = None, metadata: dict | None = None, **spec: object) -> dict[str, object]:
    obj = tree(metadata, spec={**ONE, **spec}, status={"phase": "Running", **(status or {})})
    return dict(zip((column.name for column in POD_COLUMNS), pod_cells(obj, NOW), strict=True))


def status_of(*containers: dict, **more: object) -> object:
    return row({"containerStatuses": list(containers), **more})["Status"]


def test_columns_match_upstream():
    assert [(column.name, column.priority) for column in POD_COLUMNS] == [
        ("Name", 0), ("Ready", 0), ("Status", 0), ("Restarts", 0), ("Age", 0),
        ("IP", 1), ("Node", 1), ("Nominated Node", 1), ("Readiness Gates", 1),
    ]  # fmt: skip


def test_cells_of_new_pod():
    assert list(row({"phase": "Pending"}).values()) == [
        "a", "0/1", "Pending", "0", "60s", "<none>", "<none>", "<none>", "<none>",
    ]  # fmt: skip


def test_cells_of_running_pod():
    status = {"containerStatuses": [running()], "podIPs": [{"ip": "10.0.0.1"}]}
    cells = row(status, nodeName="n")
    assert (cells["Ready"], cells["Status"], cells["IP"], cells["Node"]) == ("1/1", "Running", "10.0.0.1", "n")


@pytest.mark.parametrize(
    ("containers", "text"),
    [
        ([waiting("CrashLoopBackOff")], "CrashLoopBackOff"),
        ([waiting()], "Running"),
        ([terminated("Error", 1)], "Error"),
        ([terminated(code=7)], "ExitCode:7"),
        ([terminated(signal=9)], "Signal:9"),
        ([terminated("Error", 1), waiting("ImagePullBackOff")], "Error"),
    ],
)
def test_status_shows_reason_of_first_container_with_one(containers: list[dict], text: str):
    assert status_of(*containers) == text


def test_status_prefers_running_over_completed():
    assert status_of(terminated("Completed"), running(), conditions=[READY]) == "Running"
    assert status_of(terminated("Completed"), running()) == "NotReady"
    assert status_of(terminated("Completed")) == "Completed"


def test_status_shows_reason_of_pod_status():
    assert status_of(reason="Evicted", phase="Failed") == "Evicted"


def test_status_shows_scheduling_gated():
    assert status_of(conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]) == "SchedulingGated"


@pytest.mark.parametrize(
    ("metadata", "status", "text"),
    [
        ({"deletionTimestamp": STAMP}, {}, "Terminating"),
        ({"deletionTimestamp": STAMP}, {"reason": "NodeLost"}, "Unknown"),
        ({"deletionTimestamp": STAMP}, {"phase": "Succeeded"}, "Succeeded"),
    ],
)
def test_status_shows_terminating(metadata: dict, status: dict, text: str):
    assert row(status, metadata)["Status"] == text


@pytest.mark.parametrize(
    ("container", "text"),
    [
        (running(restartCount=0), "0"),
        (running(restartCount=2), "2"),
        (
            running(restartCount=2, lastState={"terminated": {"finishedAt": "2026-01-01T00:00:50Z"}}),
            "2 (10s ago)",
        ),
    ],
)
def test_restarts_show_time_of_last_termination(container: dict, text: str):
    assert row({"containerStatuses": [container]})["Restarts"] == text


# -- init containers --------------------------------------------------------------------------------------------------------

TWO = [{"name": "x"}, {"name": "y"}]
SIDECAR = [{"name": "x", "restartPolicy": "Always"}]


@pytest.mark.parametrize(
    ("inits", "text"),
    [
        ([waiting("PodInitializing")], "Init:0/2"),
        ([terminated("Completed"), waiting("PodInitializing")], "Init:1/2"),
        ([terminated("Error", 1)], "Init:Error"),
        ([terminated(code=3)], "Init:ExitCode:3"),
        ([terminated(code=1, signal=9)], "Init:Signal:9"),
        ([waiting("ImagePullBackOff")], "Init:ImagePullBackOff"),
    ],
)
def test_status_shows_init_containers_first(inits: list[dict], text: str):
    status = {"phase": "Pending", "initContainerStatuses": inits, "containerStatuses": [waiting("PodInitializing")]}
    assert row(status, initContainers=TWO)["Status"] == text


def test_ready_counts_sidecars():
    status = {
        "initContainerStatuses": [{"name": "x", "ready": True, "started": True, "restartCount": 3}],
        "containerStatuses": [running(restartCount=1)],
        "conditions": [INITIALIZED],
    }
    cells = row(status, initContainers=SIDECAR)
    assert (cells["Ready"], cells["Status"], cells["Restarts"]) == ("2/2", "Running", "4")


def test_status_ignores_init_containers_once_initialized():
    status = {
        "initContainerStatuses": [terminated("Error", 1)],
        "conditions": [INITIALIZED],
        "containerStatuses": [running()],
    }
    assert row(status, initContainers=TWO)["Ready"] == "1/1"


# -- gates and conditions ---------------------------------------------------------------------------------------------------


def test_cells_count_readiness_gates():
    gates = [{"conditionType": "a"}, {"conditionType": "b"}]
    conditions = [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]
    assert row({"conditions": conditions}, readinessGates=gates)["Readiness Gates"] == "1/2"


@pytest.mark.parametrize(
    ("phase", "reasons"), [("Succeeded", ["Succeeded"]), ("Failed", ["Failed"]), ("Running", []), ("", [])]
)
def test_row_conditions_show_completed_pods(phase: str, reasons: list[str]):
    conditions = pod_row_conditions(tree(status={"phase": phase}))
    assert [(c["type"], c["status"], c["reason"]) for c in conditions] == [("Completed", "True", r) for r in reasons]
