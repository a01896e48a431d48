"""Logs, exec and attach of simulated containers."""

import asyncio
from datetime import UTC, datetime

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.nodes.kubelet.host import RequestError
from steersman.nodes.kubelet.log_lines import LogOptions
from steersman.nodes.kubelet.simulated import EXEC_CODE, EXEC_OUTPUT, LOGS, SimulatedHost

SINCE = "2026-01-02T03:04:05Z"


def pod(state=None, last=None, **annotations):
    status = {"name": "c", "state": state or {"running": {"startedAt": SINCE}}, "lastState": last or {}}
    metadata = {"name": "p", "namespace": "ns", "uid": "u", "annotations": annotations}
    return {"metadata": metadata, "spec": {}, "status": {"containerStatuses": [status]}}


def host(node=None):
    body = {"metadata": {"name": "n", "annotations": node or {}}}
    return SimulatedHost(lambda _: None, lambda _: body, clock=FakeClock())


async def log(obj, *, node=None, **options):
    return b"".join([piece async for piece in host(node).logs(obj, "c", LogOptions(**options))])


class Streams:
    tty = wants_stdin = False

    def __init__(self):
        self.output = b""

    async def write(self, piece, *, error=False):
        self.output += piece


async def test_log_annotation_of_the_pod_precedes_that_of_its_node():
    assert await log(pod()) == b"p: c is simulated\n"
    assert await log(pod(), node={LOGS: "{node}/{namespace}/{pod}/{container}\n"}) == b"n/ns/p/c\n"
    assert await log(pod(**{LOGS: "own\n"}), node={LOGS: "other\n"}) == b"own\n"


async def test_log_lines_have_the_containers_start_time():
    assert await log(pod(**{LOGS: "a\nb\n"}), timestamps=True, tail_lines=1) == b"2026-01-02T03:04:05.000000000Z b\n"


async def test_followed_log_ends_with_the_container():
    assert await log(pod(), follow=True) == b"p: c is simulated\n"


@pytest.mark.parametrize(
    ("state", "previous", "message"),
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
async def test_log_is_unavailable_before_the_container_started(state, previous, message):
    with pytest.raises(RequestError) as refused:
        await log(pod(state), previous=previous)
    assert (str(refused.value), refused.value.code) == (message, 400)


async def test_log_of_an_unknown_container_is_unavailable():
    with pytest.raises(RequestError, match='container "c" in pod "p" is not available'):
        await log({**pod(), "status": {}})


async def test_exec_returns_annotated_output_and_code():
    streams = Streams()
    new_pod = pod(**{EXEC_OUTPUT: "hi {pod}", EXEC_CODE: "4"})
    assert (await host().execute(new_pod, "c", ["ls"], streams), streams.output) == (4, b"hi p")


async def test_exec_requires_a_running_container():
    with pytest.raises(RequestError, match=r'container not found \("c"\)'):
        await host().execute(pod({"waiting": {}}), "c", ["ls"], Streams())


async def test_connect_is_rejected():
    with pytest.raises(RequestError, match="no process listens on port 80"):
        await host().connect(pod(), 80)


def running(command, state=None, **annotations):
    new_pod = pod(state, **annotations)
    new_pod["spec"] = {"containers": [{"name": "c", "command": ["sh", "-c", command]}]}
    return new_pod


class World:
    """A pod whose status changes as time passes, and its host."""

    def __init__(self, obj, end=None):
        self.clock = FakeClock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        self.pod = obj
        self.end = end
        self.host = SimulatedHost(lambda _: self.newest(), lambda _: None, clock=self.clock)

    def newest(self):
        finished = "2026-01-02T03:04:15Z"
        if self.end is None or self.clock.now() < datetime(2026, 1, 2, 3, 4, 15, tzinfo=UTC):
            return self.pod
        ended = {"terminated": {"startedAt": SINCE, "finishedAt": finished, "exitCode": self.end}}
        return running("", ended)


async def test_logs_contain_the_output_written_so_far():
    command = "echo a; sleep 5; echo b; sleep 5; echo c"
    world = World(running(command))
    lines = b"".join([item async for item in world.host.logs(world.pod, "c", LogOptions())])
    assert lines == b"a\n"
    await world.clock.advance(5)
    render = [item async for item in world.host.logs(world.pod, "c", LogOptions(timestamps=True))]
    assert b"".join(render) == b"2026-01-02T03:04:05.000000000Z a\n2026-01-02T03:04:10.000000000Z b\n"
    noted = World(running(command, **{LOGS: "other"}))
    assert b"".join([item async for item in noted.host.logs(noted.pod, "c", LogOptions())]) == b"other\n"


async def test_followed_logs_show_the_output_as_it_is_written():
    world, read = World(running("echo a; sleep 5; echo b; sleep 5; echo c"), end=0), []

    async def follow():
        logs = world.host.logs(world.pod, "c", LogOptions(follow=True))
        read.extend([(world.clock.now().second, line) async for line in logs])

    task = asyncio.ensure_future(follow())
    await world.clock.advance(15)
    await task
    assert read == [(5, b"a\n"), (10, b"b\n"), (15, b"c\n")]


@pytest.mark.parametrize("is_over", [False, True])
async def test_attach_writes_the_output_until_the_end(is_over):
    world, streams = World(running("echo a; sleep 10; echo b; exit 3"), end=3), Streams()
    if is_over:
        await world.clock.advance(60)
    created = world.newest()
    created["spec"] = world.pod["spec"]
    task = asyncio.ensure_future(world.host.attach(created, "c", streams))
    await world.clock.advance(0 if is_over else 15)
    await task
    assert streams.output == b"a\nb\n"


async def test_logs_in_back_off_are_those_of_the_last_run():
    ended = {"terminated": {"startedAt": SINCE, "finishedAt": SINCE, "containerID": "x"}}
    created = running("echo a; exit 1", {"waiting": {"reason": "CrashLoopBackOff"}})
    created["status"]["containerStatuses"][0]["lastState"] = ended
    assert await log(created) == b"a\n"
