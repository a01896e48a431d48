"""Resources of a process pod without a process."""

from types import SimpleNamespace

import pytest

from steersman.asynckit.clock import RealClock
from steersman.nodes.pod_status import container_field_path
from steersman.nodes.processes.resources import PodResources

POD = {
    "metadata": {"name": "p", "namespace": "default", "uid": "u"},
    "spec": {
        "containers": [{"name": "c"}],
        "initContainers": [{"name": "i"}],
        "ephemeralContainers": [{"name": "e"}],
    },
}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("c", "spec.containers{c}"),
        ("i", "spec.initContainers{i}"),
        ("e", "spec.ephemeralContainers{e}"),
        ("", ""),
    ],
)
def test_field_path_names_the_container(name, path):
    assert container_field_path(POD, name) == path


def test_events_name_their_container(tmp_path):
    recorded = []

    class Recorder:
        def event(self, *arguments, field_path):
            recorded.append((*arguments, field_path))

    client = SimpleNamespace(clock=RealClock())
    resources = PodResources(client, POD, {}, directory=tmp_path, guard=None, api=None, recorder=Recorder())
    resources.event("Normal", "Started", "Container started", container="c")
    assert recorded == [(POD, "Normal", "Started", "Container started", "spec.containers{c}")]
