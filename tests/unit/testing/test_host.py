"""Parts of the processes of clusters: channel, options, snapshots; as a whole: ``test_kit.py``."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from cryptography.x509 import load_pem_x509_certificate

from steersman.storage.dump import StoreDump
from steersman.storage.store import KeyValue
from steersman.testing.host.channel import Call, CallServer, ChannelError, call
from steersman.testing.host.options import ClusterOptionError, ClusterOptions
from steersman.testing.host.pki import make_shared_pki
from steersman.testing.host.snapshots import ClusterSnapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def echo(**arguments):
    return arguments


async def double(data):
    return data * 2


async def fail():
    raise LookupError("a planted failure")


class Forever:
    """A method that ends only when it is cancelled."""

    def __init__(self):
        self.started, self.cancelled = threading.Event(), threading.Event()

    async def __call__(self):
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


@pytest.fixture
async def connect(tmp_path):
    """Return a function that opens a connection to a server with the methods above."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "calls"))
    listener.listen()
    forever = Forever()
    server = CallServer({"echo": echo, "double": double, "fail": fail, "forever": forever})
    await server.start(listener)
    connections = []

    def open_connection():
        connections.append(socket.socket(socket.AF_UNIX))
        connections[-1].connect(str(tmp_path / "calls"))
        return connections[-1]

    open_connection.forever = forever
    yield open_connection
    for connection in connections:
        connection.close()
    await server.close()


async def test_call_returns_the_result_and_the_connection_serves_the_next(connect):
    connection = connect()
    for number in range(2):
        answer, data = await asyncio.to_thread(call, connection, Call("echo", {"number": number}))
        assert (answer.result, data) == ({"number": number}, b"")


async def test_call_carries_bytes_both_ways(connect):
    answer, data = await asyncio.to_thread(call, connect(), Call("double"), b"\0\xff" * 100_000)
    assert (answer.result, data) == (None, b"\0\xff" * 200_000)


@pytest.mark.parametrize(
    ("request_of", "error", "message"),
    [
        (Call("fail"), "LookupError", "a planted failure"),
        (Call("nonsense"), "AttributeError", "clusters have no method 'nonsense'"),
        (Call("double", {"wrong": 1}), "TypeError", "unexpected keyword argument 'wrong'"),
    ],
)
async def test_error_of_a_method_is_the_answer(connect, request_of, error, message):
    answer, _ = await asyncio.to_thread(call, connect(), request_of)
    assert answer.error == error
    assert message in answer.message


async def test_call_is_cancelled_when_its_connection_closes(connect):
    connection = connect()
    connection.settimeout(0.01)
    with pytest.raises(TimeoutError):
        await asyncio.to_thread(call, connection, Call("forever"))
    await asyncio.to_thread(connect.forever.started.wait)
    connection.close()
    await asyncio.to_thread(connect.forever.cancelled.wait)


async def test_frame_with_an_absurd_length_closes_the_connection_only(connect):
    connection = connect()
    connection.sendall(b"\xff" * 8)
    assert await asyncio.to_thread(connection.recv, 1) == b""
    answer, _ = await asyncio.to_thread(call, connect(), Call("echo"))
    assert answer.result == {}


def test_call_to_a_peer_that_ends_is_an_error():
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises((ChannelError, OSError)):
        call(ours, Call("echo"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodez": 1}, "unknown cluster option 'nodez', expected one of nodes, controllers, scheduler"),
        ({"nodes": "many"}, "cluster option nodes: expected `int`, got `str`"),
        ({"nodes": -1}, "nodes: -1 is negative"),
        ({"clock": "sundial"}, "cluster option clock: invalid enum value 'sundial', expected one of: real, virtual"),
        ({"store": "etcd"}, "cluster option store: invalid enum value 'etcd', expected one of: memory, sqlite"),
        ({"controllers": "deployment"}, "cluster option controllers: expected `array | null`, got `str`"),
        ({"feature_gates": {"A": "yes"}}, "cluster option feature_gates[...]: expected `bool`, got `str`"),
    ],
)
def test_invalid_option_is_an_error_that_names_it(arguments, message):
    with pytest.raises(ClusterOptionError) as failed:
        ClusterOptions.of(arguments)
    assert message in str(failed.value)


def test_cluster_without_controllers_scheduler_and_nodes_is_not_whole():
    assert ClusterOptions.of({}).is_whole
    assert ClusterOptions.of({"nodes": 0, "controllers": ("*",), "scheduler": False}).is_whole
    assert not ClusterOptions.of({"nodes": 0, "controllers": (), "scheduler": False}).is_whole


def snapshot(**values):
    rows = [KeyValue(key, value, 1, 1, 0) for key, value in values.items()]
    return ClusterSnapshot(StoreDump(1, rows, []), NOW)


def values_of(state):
    return [row.value for row in state.dump.rows]


def test_snapshot_survives_encoding():
    before = snapshot(a=b"\0value")
    assert ClusterSnapshot.decode(before.encode()) == before


def test_moved_snapshot_has_moved_timestamps_and_nothing_else():
    text = b'{"a":"2026-01-01T00:00:01Z","b":"2025-12-31T23:59:59.123456Z","c":"2026-01-01","d":"v2026"}'
    moved = snapshot(a=text).moved(timedelta(days=1, seconds=5))
    assert values_of(moved) == [
        b'{"a":"2026-01-02T00:00:06Z","b":"2026-01-02T00:00:04.123456Z","c":"2026-01-01","d":"v2026"}'
    ]
    assert moved.now == NOW + timedelta(days=1, seconds=5)


def test_snapshot_with_other_uids_replaces_them_in_references_too():
    uid, other = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
    text = '{"uid":"%s","name":"%s"}'
    state = snapshot(a=(text % (uid, uid)).encode(), b=(text % (uid, other)).encode(), c=(text % (other, "")).encode())
    [[own, name], [reference, _], [further, _]] = [
        list(msgspec.json.decode(value).values()) for value in values_of(state.with_other_uids())
    ]
    assert name == uid
    assert reference == own
    assert len({own, further, uid, other}) == 4


def test_snapshot_for_another_port_changes_the_service_kubernetes_only():
    service, other = "/registry/services/specs/default/kubernetes", "/registry/services/specs/default/other"
    text = b'{"ports":[{"port":443,"targetPort":6443}]}'
    state = snapshot(**{service: text, other: text, "/registry/masterleases/10.0.0.1": b"{}"}).with_port(12345)
    assert values_of(state) == [b'{"ports":[{"port":443,"targetPort":12345}]}', text]


def test_shared_certificates_are_valid_in_years_of_virtual_time(tmp_path):
    shared = make_shared_pki(tmp_path, service_cluster_ip_range="10.0.0.0/24", earliest=NOW)
    for pair in (shared.pki.ca, shared.pki.server, shared.pki.admin, shared.pki.kubelet, shared.pki.front_proxy_client):
        certificate = load_pem_x509_certificate(pair.certificate.read_bytes())
        assert certificate.not_valid_before_utc < NOW
        assert certificate.not_valid_after_utc > NOW + timedelta(days=10 * 365)
        assert pair.key.stat().st_mode & 0o777 == 0o600


class Plugin:
    """A scheduler plugin."""

    def filter(self, state, pod, node):
        return None


def test_scheduler_plugins_are_passed_by_module_and_imported_in_the_other_process():
    options = ClusterOptions.of({"scheduler_plugins": {"Mine": Plugin, "Other": f"{__name__}:Plugin"}})
    assert options.scheduler_plugins == {"Mine": f"{__name__}:Plugin", "Other": f"{__name__}:Plugin"}
    assert options.plugins() == {"Mine": Plugin, "Other": Plugin}
    assert options.plugin_path == [entry for entry in sys.path if entry]


def test_scheduler_plugin_that_cannot_be_imported_is_named():
    options = ClusterOptions.of({"scheduler_plugins": {"Mine": "nowhere:Plugin"}})
    with pytest.raises(ClusterOptionError, match=r"scheduler_plugins: Mine: nowhere:Plugin cannot be loaded: Module"):
        options.plugins()
