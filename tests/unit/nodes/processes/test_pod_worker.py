"""Worker of a process pod without a process."""

from types import SimpleNamespace

from steersman.asynckit.clock import RealClock
from steersman.nodes.processes.pod_worker import PodWorker
from steersman.nodes.processes.statuses import Terminated


async def test_ephemeral_container_of_an_earlier_process_is_not_started_again():
    status = {
        "name": "e",
        "containerID": "process://u/e/0",
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    }
    pod = {
        "metadata": {"name": "p", "uid": "u"},
        "spec": {"containers": [], "ephemeralContainers": [{"name": "e", "command": ["true"]}]},
        "status": {"ephemeralContainerStatuses": [status]},
    }
    worker = PodWorker(pod, SimpleNamespace(clock=RealClock()), changed=lambda: None)
    worker.start_ephemeral_containers(pod)
    await worker.run()
    await worker.close()
    state = worker.containers["e"].facts.state
    assert isinstance(state, Terminated)
    assert (state.code, state.reason) == (137, "ContainerStatusUnknown")
