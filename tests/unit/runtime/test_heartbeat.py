import asyncio
import json
import random
from itertools import pairwise

import pytest
from prometheus_client import CollectorRegistry

from steersman.apimachinery.trees import copy_tree
from steersman.asynckit.clock import FakeClock
from steersman.client import Client, RetryPolicy
from steersman.client.aiohttp_transport import AiohttpTransport
from steersman.client.credentials import Identity, StaticCredentials
from steersman.client.errors import AlreadyExists, Conflict, Forbidden, InternalError, NotFound, RequestFailed
from steersman.client.kubeconfig import ClusterAccess
from steersman.runtime.heartbeat import LeaseHeartbeat
from steersman.runtime.heartbeat_metrics import PrometheusHeartbeatMetrics


def refusal(kind, code):
    return kind({"code": code, "reason": kind.__name__, "message": kind.__name__})


class LeaseClient:
    """Server with one Lease; each call raises the next of ``faults`` (None: no fault)."""

    def __init__(self, clock):
        self.clock, self.lease, self.version = clock, None, 0
        self.calls, self.faults, self.hooks = [], [], []

    async def _call(self, name):
        self.calls.append((name, self.clock.monotonic()))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault

    def _store(self, lease):
        self.version += 1
        self.lease = copy_tree(lease)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return copy_tree(self.lease)

    def with_options(self, **options):
        self.options = options
        return self

    async def get(self, resource, name, *, namespace):
        await self._call("get")
        if self.lease is None:
            raise refusal(NotFound, 404)
        return copy_tree(self.lease)

    async def create(self, lease):
        await self._call("create")
        return self._store(lease)

    async def update(self, lease):
        await self._call("update")
        if self.lease is None:
            raise refusal(NotFound, 404)
        if lease["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise refusal(Conflict, 409)
        return self._store(lease)

    @property
    def names(self):
        return [name for name, _ in self.calls]


OPTIONS = {
    "holder_identity": "node-1",
    "lease_duration_seconds": 40,
    "renew_interval_seconds": 10,
    "namespace": "kube-node-lease",
}


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def client(clock):
    return LeaseClient(clock)


@pytest.fixture
async def beating(client, clock):
    """Return a function that starts a heartbeat."""
    tasks = []

    def start(**options):
        heartbeat = LeaseHeartbeat(
            client,
            **OPTIONS,
            dice=random.Random(1),
            clock=clock,
            **options,
        )
        tasks.append(asyncio.create_task(heartbeat.run()))
        return heartbeat

    yield start
    for task in tasks:
        task.cancel()
    await clock.advance(1)


DOWN = RequestFailed("no connection")


async def test_run_creates_a_missing_lease_at_once_without_a_second_write(beating, client, clock):
    beating()
    await clock.advance(0)
    assert client.calls == [("get", 0), ("create", 0)]
    assert client.lease["metadata"] == {"name": "node-1", "namespace": "kube-node-lease", "resourceVersion": "1"}
    assert client.lease["spec"] == {
        "holderIdentity": "node-1",
        "leaseDurationSeconds": 40,
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }


async def test_run_renews_each_interval_with_jitter_and_without_reading(beating, client, clock):
    beating()
    await clock.advance(0)
    client.calls.clear()
    await clock.advance(100)
    assert client.names == ["update"] * 9
    waits = [later - earlier for (_, earlier), (_, later) in pairwise([("create", 0), *client.calls])]
    assert [10 <= wait <= 10.4 for wait in waits] == [True] * 9
    assert max(waits) > 10.3
    assert len(set(waits)) == 9


async def test_interval_begins_at_the_end_of_a_renewal(beating, client, clock):
    beating()
    await clock.advance(0)
    client.calls.clear()
    client.faults = [refusal(Conflict, 409), DOWN, DOWN, DOWN]  # ensuring takes 0.2 + 0.4 + 0.8 s
    await clock.advance(25)
    ((_, first), *_, (_, ended), (_, after)) = client.calls
    assert ended - first == pytest.approx(1.4)
    assert 10 <= after - ended <= 10.4


async def test_run_renews_an_existing_lease_at_once(beating, client, clock):
    old = {"metadata": {"name": "node-1", "annotations": {"a": "b"}}, "spec": {"holderIdentity": "node-1"}}
    client._store(old)
    beating()
    await clock.advance(0)
    assert client.names == ["get", "update"]
    assert client.lease["spec"] == {"holderIdentity": "node-1", "renewTime": "2026-01-01T00:00:00.000000Z"}
    assert client.lease["metadata"]["annotations"] == {"a": "b"}


async def test_conflict_reads_the_lease_and_updates_it_again(beating, client, clock):
    beating()
    await clock.advance(0)
    client._store(client.lease)  # another client wrote
    client.calls.clear()
    await clock.advance(10.5)
    assert client.names == ["update", "get", "update"]


async def test_deleted_lease_is_recreated_after_the_attempts(beating, client, clock):
    beating()
    await clock.advance(0)
    client.lease = None
    client.calls.clear()
    await clock.advance(10.5)
    assert client.names == ["update"] * 5 + ["get", "create"]


async def test_conflict_with_a_deletion_recreates_the_lease_without_a_second_write(beating, client, clock):
    beating()
    await clock.advance(0)
    client.faults = [refusal(Conflict, 409)]
    client.lease = None
    client.calls.clear()
    await clock.advance(10.5)
    assert client.names == ["update", "get", "create"]


async def test_five_failed_attempts_are_followed_by_a_read_and_five_more(beating, client, clock, caplog):
    beating()
    await clock.advance(0)
    client.calls.clear()
    client.faults = [DOWN] * 5 + [None] + [DOWN] * 5
    await clock.advance(10.5)
    assert client.names == ["update"] * 5 + ["get"] + ["update"] * 5
    assert "failed 5 attempts to update lease node-1, will retry after 10 s" in caplog.text
    await clock.advance(10.5)
    assert client.names[-1] == "update"


async def test_lease_that_was_read_is_the_base_of_the_next_interval(beating, client, clock):
    client._store({"metadata": {"name": "node-1"}, "spec": {}})
    client.faults = [None] + [DOWN] * 5
    beating()
    await clock.advance(0)
    assert client.names == ["get"] + ["update"] * 5
    await clock.advance(10.5)
    assert client.names[6:] == ["update"]


async def test_on_repeated_failure_is_called_from_the_second_failure_on(beating, client, clock):
    calls_at_hook = []
    beating(on_repeated_failure=lambda: calls_at_hook.append(len(client.calls)))
    await clock.advance(0)
    client.calls.clear()
    client.faults = [DOWN, DOWN, DOWN]
    await clock.advance(10.5)
    assert client.names == ["update"] * 4
    assert calls_at_hook == [2, 3]


async def test_on_repeated_failure_is_not_called_for_a_conflict_which_counts_as_an_attempt(beating, client, clock):
    calls_at_hook = []
    beating(on_repeated_failure=lambda: calls_at_hook.append(len(client.calls)))
    await clock.advance(0)
    client.calls.clear()
    client.faults = [refusal(Conflict, 409), None, DOWN]
    await clock.advance(10.5)
    assert client.names == ["update", "get", "update", "update"]
    assert calls_at_hook == [3]


async def test_ensure_backoff_doubles_up_to_seven_seconds(beating, client, clock):
    client.faults = [DOWN] * 9
    beating()
    await clock.advance(60)
    at = [at for name, at in client.calls if name == "get"]
    assert [b - a for a, b in pairwise(at[:10])] == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7, 7, 7])
    assert client.lease is not None


async def test_run_ends_at_once_when_it_is_cancelled_during_a_backoff(client, clock):
    client.faults = [DOWN] * 9
    task = asyncio.create_task(LeaseHeartbeat(client, **OPTIONS, clock=clock).run())
    await clock.advance(20)
    task.cancel()
    await clock.advance(0)
    assert task.cancelled()
    assert clock.waiting == 0


async def test_failed_create_is_retried_with_backoff(beating, client, clock):
    client.faults = [None, refusal(InternalError, 500)]
    beating()
    await clock.advance(1)
    assert client.names == ["get", "create", "get", "create"]


async def owner(lease):
    lease["metadata"]["ownerReferences"] = [{"kind": "Node", "name": "node-1"}]


async def broken(lease):
    lease["metadata"]["annotations"] = {"half": "done"}
    raise RuntimeError("no such node")


async def test_process_lease_runs_before_each_create_and_update(beating, client, clock):
    beating(process_lease=owner)
    await clock.advance(0)
    assert client.lease["metadata"]["ownerReferences"]
    del client.lease["metadata"]["ownerReferences"]
    await clock.advance(10.5)
    assert client.lease["metadata"]["ownerReferences"]


async def test_process_lease_error_blocks_a_create_until_the_next_interval(beating, client, clock, caplog):
    beating(process_lease=broken)
    await clock.advance(5)
    assert client.names == ["get"]
    assert "no such node" in caplog.text
    await clock.advance(6)
    assert client.names == ["get", "get"]
    assert client.lease is None


async def test_process_lease_error_does_not_block_an_update(beating, client, clock):
    client._store({"metadata": {"name": "node-1"}, "spec": {}})
    beating(process_lease=broken)
    await clock.advance(0)
    assert client.names == ["get", "update"]
    assert client.lease["metadata"]["annotations"] == {"half": "done"}


async def test_process_lease_error_after_a_conflict_with_a_deletion_ends_the_beat(beating, client, clock):
    failing = []

    async def hook(lease):
        if failing:
            raise RuntimeError

    beating(process_lease=hook)
    await clock.advance(0)
    failing.append(True)
    client.faults = [refusal(Conflict, 409)]
    client.lease = None
    client.calls.clear()
    await clock.advance(10.5)
    assert client.names == ["update", "get", "get"]


async def test_lease_name_may_differ_from_the_holder_identity(beating, client, clock):
    beating(lease_name="apiserver-x")
    await clock.advance(0)
    assert client.lease["metadata"]["name"] == "apiserver-x"
    assert client.lease["spec"]["holderIdentity"] == "node-1"


async def test_run_without_a_client_logs_and_returns(clock, caplog):
    caplog.set_level("INFO")
    heartbeat = LeaseHeartbeat(None, **OPTIONS, clock=clock)
    await heartbeat.run()
    assert "has no client, will not claim or renew leases" in caplog.text
    assert clock.waiting == 0


async def test_beat_does_not_change_the_lease_it_is_based_on(client, clock):
    client._store({"metadata": {"name": "node-1"}, "spec": {}})
    heartbeat = LeaseHeartbeat(client, **OPTIONS, clock=clock)
    await heartbeat.beat()
    before = copy_tree(heartbeat._latest)
    latest = heartbeat._latest
    await clock.advance(1)
    await heartbeat.beat()
    assert latest == before != heartbeat._latest


async def test_create_that_another_process_was_faster_with_reads_and_updates_at_once(beating, client, clock):
    other = {"metadata": {"name": "node-1"}, "spec": {"holderIdentity": "node-1"}}

    async def create(lease):
        client._store(other)
        raise refusal(AlreadyExists, 409)

    client.create = create
    beating()
    await clock.advance(0)
    assert client.names == ["get", "get", "update"]


async def test_renew_once_creates_and_updates_and_raises_the_error_of_the_server(client, clock):
    heartbeat = LeaseHeartbeat(client, **OPTIONS, clock=clock)
    await heartbeat.renew_once()
    assert client.names == ["get", "create"]
    await heartbeat.renew_once()
    assert client.names[2:] == ["get", "update"]
    client.faults = [refusal(Forbidden, 403)]
    with pytest.raises(Forbidden):
        await heartbeat.renew_once()
    await heartbeat.beat()
    assert client.names[-1] == "update"


async def test_renew_once_without_a_client_does_nothing():
    await LeaseHeartbeat(None, **OPTIONS).renew_once()


async def test_renew_once_does_not_create_a_lease_that_process_lease_rejects(client, clock):
    await LeaseHeartbeat(client, **OPTIONS, process_lease=broken, clock=clock).renew_once()
    assert client.names == ["get"]


# -- hooks -------------------------------------------------------------------------------------------------------------


async def test_hooks_may_be_plain_functions_or_coroutine_functions(beating, client, clock):
    calls = []

    def process(lease):
        lease["metadata"]["labels"] = {"a": "b"}

    async def repeated():
        await clock.sleep(0)
        calls.append(len(client.calls))

    beating(process_lease=process, on_repeated_failure=repeated)
    await clock.advance(0)
    assert client.lease["metadata"]["labels"] == {"a": "b"}
    client.calls.clear()
    client.faults = [DOWN, DOWN]
    await clock.advance(10.5)
    assert calls == [2]


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"process_lease": lambda: None}, r"^process_lease must be .* \(lease\), not .*<lambda>\(\): too many"),
        (
            {"on_repeated_failure": owner},
            r"^on_repeated_failure must be .* \(\), not owner\(lease\): missing a required",
        ),
    ],
)
def test_hook_with_another_signature_is_rejected_at_construction(hooks, message):
    with pytest.raises(TypeError, match=message):
        LeaseHeartbeat(None, **OPTIONS, **hooks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"holder_identity": ""}, "holder_identity may not be empty"),
        ({"renew_interval_seconds": 0}, r"renew_interval_seconds \(0\) must be positive and less than"),
        ({"renew_interval_seconds": 40}, r"less than lease_duration_seconds \(40\)"),
        ({"request_deadline_seconds": 0}, r"request_deadline_seconds \(0\) must be positive"),
    ],
)
def test_impossible_options_are_rejected_at_construction(options, message):
    with pytest.raises(ValueError, match=message):
        LeaseHeartbeat(None, **{**OPTIONS, **options})


async def test_on_repeated_failure_error_does_not_end_the_attempts(beating, client, clock, caplog):
    def repeated():
        raise RuntimeError("cannot close")

    beating(on_repeated_failure=repeated)
    await clock.advance(0)
    client.calls.clear()
    client.faults = [DOWN] * 4
    await clock.advance(10.5)
    assert client.names == ["update"] * 5
    assert "cannot close" in caplog.text


async def test_hook_without_end_is_cancelled_at_the_deadline(beating, client, clock):
    cancelled = []

    async def endless(*_):
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append(clock.monotonic())
            raise

    client._store({"metadata": {"name": "node-1"}, "spec": {}})
    beating(process_lease=endless, on_repeated_failure=endless)
    client.faults = [None, DOWN, DOWN]
    await clock.advance(20)
    assert cancelled == [5, 10, 15, 20]  # of attempts 1 and 2, of the failure, of attempt 3
    assert client.names[:4] == ["get", "update", "update", "update"]


# -- requests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "deadline"), [({}, 5), ({"request_deadline_seconds": 2}, 2)])
async def test_requests_have_a_deadline_and_do_not_retry_refused_connections(client, clock, options, deadline):
    LeaseHeartbeat(client, **OPTIONS, **options, clock=clock)
    assert client.options == {"deadline_seconds": deadline, "retry": RetryPolicy(retry_failed_connections=False)}


class LeaseServer:
    """HTTP server on a real port that keeps a Lease; ``is_silent`` makes it accept requests without an answer."""

    @classmethod
    async def start(cls):
        server = cls()
        server.lease, server.is_silent = None, False
        server.requests, server._connections = asyncio.Queue(), set()
        server._server = await asyncio.start_server(server._serve, "127.0.0.1")
        server.url = f"http://127.0.0.1:{server._server.sockets[0].getsockname()[1]}"
        return server

    async def _serve(self, reader, writer):
        self._connections.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().splitlines()
                lengths = [int(line.partition(":")[2]) for line in lines if line.startswith("content-length:")]
                body = await reader.readexactly(sum(lengths))
                self.requests.put_nowait(lines[0].split()[0])
                if not self.is_silent:
                    self.lease = json.loads(body) if body else self.lease
                    answer = json.dumps(self.lease or {"kind": "Status", "code": 404, "reason": "NotFound"}).encode()
                    status = b"200 OK" if self.lease else b"404 Not Found"
                    writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(answer), answer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def close(self):
        self._server.close()
        for writer in self._connections:
            writer.transport.abort()
        await self._server.wait_closed()


@pytest.fixture
async def lease_server():
    server = await LeaseServer.start()
    yield server
    await server.close()


@pytest.fixture
async def renewing(lease_server, clock):
    """Return a heartbeat over TCP that has created its Lease, and the queue of its repeated failures.

    Only the requests take real time: the clock stands still until a test advances it.
    """
    access = ClusterAccess(server=lease_server.url, credentials=StaticCredentials(Identity()))
    failures = asyncio.Queue()
    async with Client(AiohttpTransport(access), clock=clock) as over_tcp:

        async def fail():
            await over_tcp.close()  # as the kubelet: the next attempt has a new connection
            failures.put_nowait(clock.monotonic())

        heartbeat = LeaseHeartbeat(over_tcp, **OPTIONS, on_repeated_failure=fail)
        await heartbeat.beat()
        assert [lease_server.requests.get_nowait() for _ in range(2)] == ["get", "post"]
        yield heartbeat, failures


async def test_on_repeated_failure_is_called_at_once_over_a_dead_port(lease_server, renewing, clock):
    heartbeat, failures = renewing
    await lease_server.close()
    beat = asyncio.create_task(heartbeat.beat())
    assert [await failures.get() for _ in range(4)] == [0, 0, 0, 0]  # attempts 2 to 5, without any wait
    beat.cancel()
    await asyncio.wait([beat])


async def test_on_repeated_failure_is_called_at_the_second_deadline_when_the_server_never_answers(
    lease_server, renewing, clock
):
    heartbeat, failures = renewing
    lease_server.is_silent = True
    beat = asyncio.create_task(heartbeat.beat())
    for _ in range(2):
        assert await lease_server.requests.get() == "put"
        assert failures.empty()
        await clock.advance(5)
    assert await failures.get() == 10
    assert await lease_server.requests.get() == "put"
    lease_server.is_silent = False
    await clock.advance(5)
    await beat
    assert lease_server.lease["spec"]["renewTime"] == "2026-01-01T00:00:15.000000Z"


# -- metrics -----------------------------------------------------------------------------------------------------------


async def test_metrics_export_latency_failures_and_age(beating, client, clock):
    registry = CollectorRegistry()

    def sample(name, **labels):
        return registry.get_sample_value(f"lease_heartbeat_{name}", {"namespace": "kube-node-lease", **labels})

    client.faults = [DOWN, None, DOWN]
    heartbeat = beating(metrics=PrometheusHeartbeatMetrics(registry))
    await clock.advance(1)
    assert sample("renew_duration_seconds_count") == 1
    assert sample("failures_total", operation="get") == 1
    assert sample("failures_total", operation="create") == 1
    assert sample("age_seconds") == heartbeat.age_seconds == pytest.approx(0.4)
    client.faults = [DOWN] * 1000
    await clock.advance(100)
    assert sample("failures_total", operation="update") == 5
    assert sample("age_seconds") == pytest.approx(100.4)


async def test_metrics_count_errors_of_process_lease_and_end_with_the_heartbeat(client, clock):
    registry = CollectorRegistry()
    metrics = PrometheusHeartbeatMetrics(registry)
    task = asyncio.create_task(
        LeaseHeartbeat(client, **OPTIONS, process_lease=broken, metrics=metrics, clock=clock).run()
    )
    await clock.advance(3)
    labels = {"namespace": "kube-node-lease"}
    failures = registry.get_sample_value("lease_heartbeat_failures_total", {**labels, "operation": "process_lease"})
    assert failures == 1
    assert registry.get_sample_value("lease_heartbeat_age_seconds", labels) == 3
    task.cancel()
    await clock.advance(0)
    assert registry.get_sample_value("lease_heartbeat_age_seconds", labels) is None
