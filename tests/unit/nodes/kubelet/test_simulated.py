"""What containers that do not exist say."""

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.nodes.kubelet.hosting import Refusal
from steersman.nodes.kubelet.log_lines import LogOptions
from steersman.nodes.kubelet.simulated import EXEC_CODE, EXEC_OUTPUT, LOGS, SimulatedHost

SINCE = "2026-01-02T03:04:05Z"


def pod(state=None, last=None, **annotations):
    status = {"name": "c", "state": state or {"running": {"startedAt": SINCE}}, "lastState": last or {}}
    metadata = {"name": "p", "namespace": "ns", "uid": "u", "annotations": annotations}
    return {"metadata": metadata, "spec": {}, "status": {"containerStatuses": [status]}}


def host(node=None):
    found = {"metadata": {"name": "n", "annotations": node or {}}}
    return SimulatedHost(lambda _: None, lambda _: found, clock=FakeClock())


async def log(made, *, node=None, **options):
    return b"".join([piece async for piece in host(node).logs(made, "c", LogOptions(**options))])


class Streams:
    tty = wants_stdin = False

    def __init__(self):
        self.said = b""

    async def write(self, piece, *, error=False):
        self.said += piece


async def test_the_pod_says_it_before_its_node():
    assert await log(pod()) == b"p: c is simulated\n"
    assert await log(pod(), node={LOGS: "{node}/{namespace}/{pod}/{container}\n"}) == b"n/ns/p/c\n"
    assert await log(pod(**{LOGS: "own\n"}), node={LOGS: "other\n"}) == b"own\n"


async def test_lines_have_the_time_of_the_start():
    assert await log(pod(**{LOGS: "a\nb\n"}), timestamps=True, tail_lines=1) == b"2026-01-02T03:04:05.000000000Z b\n"


async def test_a_log_that_is_followed_ends_with_the_container():
    assert await log(pod(), follow=True) == b"p: c is simulated\n"


@pytest.mark.parametrize(
    ("state", "previous", "why"),
    [
        ({"waiting": {"reason": "PodInitializing"}}, False, 'container "c" in pod "p" is waiting to start: PodInitializing'),
        ({"waiting": {}}, False, 'container "c" in pod "p" is waiting to start: ContainerCreating'),
        (
            {"waiting": {"reason": "ErrImagePull"}},
            False,
            'container "c" in pod "p" is waiting to start: trying and failing to pull image',
        ),
        (None, True, 'previous terminated container "c" in pod "p" not found'),
    ],
)  # fmt: skip
async def test_there_may_be_no_log(state, previous, why):
    with pytest.raises(Refusal) as refused:
        await log(pod(state), previous=previous)
    assert (str(refused.value), refused.value.code) == (why, 400)


async def test_a_container_that_nobody_knows_is_not_available():
    with pytest.raises(Refusal, match='container "c" in pod "p" is not available'):
        await log({**pod(), "status": {}})


async def test_a_command_is_answered_as_it_is_said():
    streams = Streams()
    made = pod(**{EXEC_OUTPUT: "hi {pod}", EXEC_CODE: "4"})
    assert (await host().execute(made, "c", ["ls"], streams), streams.said) == (4, b"hi p")


async def test_only_what_runs_takes_commands():
    with pytest.raises(Refusal, match=r'container not found \("c"\)'):
        await host().execute(pod({"waiting": {}}), "c", ["ls"], Streams())


async def test_nobody_listens_on_ports():
    with pytest.raises(Refusal, match="nobody listens on port 80"):
        await host().connect(pod(), 80)
