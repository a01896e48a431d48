"""A pod under the simulated kubelet, with virtual time."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from steersman.apimachinery.trees import Tree
from steersman.nodes.simulation.behavior import PREFIX
from steersman.nodes.simulation.pod_plan import is_settled, plan
from steersman.nodes.stages import StageContext

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def pod(*, annotations: dict[str, str] | None = None, container: Tree | None = None, **spec: Any) -> Tree:
    notes = {PREFIX + name: value for name, value in (annotations or {}).items()}
    metadata = {"name": "p", "namespace": "default", "uid": "u", "generation": 1, "annotations": notes}
    containers = [{"name": "c", "image": "busybox", **(container or {})}]
    return {"metadata": metadata, "spec": {"containers": containers, **spec}, "status": {"phase": "Pending"}}


class Simulation:
    """Applies plans in the order of their due times; records what a watcher sees."""

    def __init__(self, obj: Tree, *, ends: bool = True, now: datetime = NOW) -> None:
        self.pod = obj
        self.now = now
        self.ends = ends
        #: Seconds since the start, the pod's phase, and the state of each container.
        self.seen: list[tuple[float, str, *tuple[str, ...]]] = []
        #: Events of containers that start.
        self.starts: list[tuple[str, str, str]] = []
        #: All other events.
        self.events: list[tuple[str, str, str]] = []

    def run(self, seconds: float) -> list[tuple[float, str, *tuple[str, ...]]]:
        """Advance to so many seconds after the start; return what was seen since the last call."""
        end, begin = NOW + timedelta(seconds=seconds), len(self.seen)
        for _ in range(500):
            if self.pod["status"]["phase"] in ("Succeeded", "Failed"):
                break
            following = plan(self.pod, StageContext(self.now, "172.16.0.1", "10.1.0.7"), ends=self.ends)
            if self.pod["status"]["phase"] == "Running" and is_settled(self.pod, ends=self.ends):
                assert (following.status, following.due) == (None, None)
            if following.status is None:
                if following.due is None or following.due > end:
                    break
                assert following.due > self.now
                self.now = following.due
                continue
            self.apply(following.status)
            for event in following.events:
                events = self.starts if event.reason in ("Pulled", "Created", "Started") else self.events
                events.append((event.type, event.reason, event.message))
            states = tuple(state_of(status) for status in self.statuses())
            self.seen.append(((self.now - NOW).total_seconds(), self.pod["status"]["phase"], *states))
        self.now = max(end, self.now)
        return self.seen[begin:]

    def apply(self, status: Tree) -> None:
        by_key = {condition["type"]: condition for condition in self.pod["status"].get("conditions", ())}
        by_key |= {condition["type"]: condition for condition in status.get("conditions", ())}
        self.pod["status"] = deepcopy({**self.pod["status"], **status, "conditions": list(by_key.values())})

    def statuses(self) -> list[Tree]:
        status = self.pod["status"]
        return [*status.get("initContainerStatuses", ()), *status["containerStatuses"]]

    def status_of(self, name: str = "c") -> Tree:
        return next(status for status in self.statuses() if status["name"] == name)

    def conditions(self) -> dict[str, str]:
        return {condition["type"]: condition["status"] for condition in self.pod["status"]["conditions"]}


def state_of(status: Tree) -> str:
    """Return the state as ``kubectl get pods`` prints it."""
    state = status["state"]
    if "running" in state:
        return "Ready" if status["ready"] else "Running"
    return str((state.get("waiting") or state.get("terminated"))["reason"])
