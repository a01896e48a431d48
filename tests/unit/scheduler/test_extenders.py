"""Extenders: messages, their place in the cycle, and failures of their servers."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lightkube.models.core_v1 import Pod
from tests.unit.listening import closed_port, listening
from tests.unit.scheduler.test_running import Running, started
from tests.unit.scheduler.world import World, node, pod

from steersman.asynckit.certificates import make_ca, make_server
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.client.transport import Request, Response, TransportError
from steersman.scheduler.configuration.extenders import ExtenderSettings, ExtenderTLS
from steersman.scheduler.configuration.loading import parse_configuration
from steersman.scheduler.configuration.settings import Settings
from steersman.scheduler.core import AssumedPod, UnschedulablePod
from steersman.scheduler.extenders import http_extender
from steersman.scheduler.extenders.chain import ExtenderChain, connect_extenders
from steersman.scheduler.extenders.http_extender import HTTPExtender
from steersman.scheduler.framework import ExtenderError
from steersman.scheduler.pod_info import PodInfo

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

URL = "http://extender.test/prefix"
SETTINGS = ExtenderSettings(
    url_prefix=URL,
    filter_verb="filter",
    prioritize_verb="prioritize",
    preempt_verb="preempt",
    bind_verb="bind",
    weight=1,
    node_cache_capable=True,
)
FILTER_ONLY = ExtenderSettings(url_prefix=URL, filter_verb="filter", node_cache_capable=True)


class Answer:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.headers: dict[str, str] = {}
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


class ExtenderServer:
    """Transport to an extender whose verbs are functions of the decoded arguments."""

    host = "extender.test"

    def __init__(self, **verbs: Callable[[Any], Any]) -> None:
        self.verbs = verbs
        self.requests: list[tuple[str, Any]] = []
        #: Wait for this event before each answer.
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = asyncio.Event()
        self.closed = False

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[Answer]:
        assert request.body is not None
        verb, args = request.path.removeprefix("/prefix/"), json.loads(request.body)
        self.requests.append((verb, args))
        self.waiting.set()
        await self.gate.wait()
        answer = self.verbs[verb](args)
        yield answer if isinstance(answer, Answer) else Answer(200, json.dumps(answer).encode())

    async def request(self, request: Request) -> Response:
        raise AssertionError("answers are read as streams")

    async def close(self) -> None:
        self.closed = True


def world(*extenders: tuple[ExtenderSettings, ExtenderServer], nodes: str = "abc", clock: Any = None) -> World:
    clients = [HTTPExtender(settings, server, clock=clock or FakeClock()) for settings, server in extenders]
    return World(*(node(name) for name in nodes), extenders=ExtenderChain(clients))


async def attempt(world: World, pod: Pod) -> AssumedPod | UnschedulablePod | None:
    world.add(pod)
    return await world.core.schedule_one(world.budgets)


async def place(world: World, pod: Pod) -> str:
    """Schedule a pod and return its node, or the message if it is unschedulable."""
    result = await attempt(world, pod)
    assert result is not None
    return result.node if isinstance(result, AssumedPod) else result.message


def test_configuration_of_the_guide_is_valid() -> None:
    page = (Path(__file__).parents[3] / "docs/scheduler-extenders.md").read_text()
    text = page.partition("```yaml\n")[2].partition("```")[0]
    (extender,) = parse_configuration(text.encode()).settings.extenders
    assert (extender.bind_verb, extender.timeout_seconds, extender.tls.ca_file) == ("bind", 2, "/etc/extender/ca.crt")


# Filter


async def test_extender_filters_nodes_that_passed_the_plugins() -> None:
    server = ExtenderServer(filter=lambda args: {"NodeNames": ["b"]})
    cluster = world((FILTER_ONLY, server))
    cluster.core.set_node(node("full", cpu="0"))
    assert await place(cluster, pod("p", cpu="1")) == "b"
    ((_, args),) = server.requests
    assert sorted(args["NodeNames"]) == ["a", "b", "c"]
    assert args["Nodes"] is None
    assert args["Pod"]["metadata"]["name"] == "p"


async def test_nodes_are_sent_as_objects_unless_the_extender_caches_them() -> None:
    def accept_first(args: Any) -> Any:
        assert args["NodeNames"] is None
        items = args["Nodes"]["items"]
        return {"nodes": {"items": [item for item in items if item["metadata"]["name"] == "c"]}}

    settings = ExtenderSettings(url_prefix=f"{URL}/", filter_verb="filter")
    assert await place(world((settings, ExtenderServer(filter=accept_first))), pod("p")) == "c"


async def test_failed_nodes_are_reasons_of_the_failure() -> None:
    answer = {
        "NodeNames": [],
        "FailedNodes": {"a": "no licence", "b": "no licence"},
        "FailedAndUnresolvableNodes": {"b": "wrong site"},
    }
    cluster = world((FILTER_ONLY, ExtenderServer(filter=lambda _: answer)))
    assert await place(cluster, pod("p", priority=5)) == (
        "0/3 nodes are available: 1 no licence, 1 wrong site. no new claims to deallocate, preemption: 0/3 nodes are available: "
        "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    )


async def test_any_event_requeues_a_pod_whose_nodes_an_extender_dropped() -> None:
    server = ExtenderServer(filter=lambda _: {"NodeNames": []})
    cluster = world((FILTER_ONLY, server))
    result = await attempt(cluster, pod("p"))
    assert isinstance(result, UnschedulablePod)
    assert result.queued.unschedulable_plugins == {"Extender"}
    server.verbs["filter"] = lambda args: {"NodeNames": args["NodeNames"]}
    cluster.core.remove_node("a")
    cluster.now += 1
    assert isinstance(await cluster.core.schedule_one([]), AssumedPod)


async def test_extenders_filter_one_after_the_other_with_ignorable_ones_last() -> None:
    calls: list[str] = []

    def dropping(name: str) -> Callable[[Any], Any]:
        def call(args: Any) -> Any:
            calls.append(name)
            return {"NodeNames": sorted(args["NodeNames"])[1:]}

        return call

    ignorable = ExtenderSettings(url_prefix=URL, filter_verb="filter", node_cache_capable=True, ignorable=True)
    cluster = world(
        (ignorable, ExtenderServer(filter=dropping("ignorable"))),
        (FILTER_ONLY, ExtenderServer(filter=dropping("first"))),
    )
    assert await place(cluster, pod("p")) == "c"
    assert calls == ["first", "ignorable"]


FAILURES = {
    "error reported": (lambda _: {"Error": "database gone"}, "database gone"),
    "unavailable": (lambda _: Answer(503, b""), f"failed filter with extender at URL {URL}/filter, code 503"),
    "redirect": (lambda _: Answer(302, b""), f"failed filter with extender at URL {URL}/filter, code 302"),
    "no JSON": (lambda _: Answer(200, b"<html>"), "the answer is no JSON"),
    "empty": (lambda _: Answer(200, b""), "EOF"),
    "array": (lambda _: [], "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"),
    "wrong type": (
        lambda _: {"NodeNames": "a"},
        "json: cannot unmarshal string into Go struct field ExtenderFilterResult.NodeNames of type slice",
    ),
    "unknown node": (
        lambda _: {"NodeNames": ["z"]},
        f'extender "{URL}" claims a filtered node "z" which is not found in the input node list',
    ),
}


@pytest.mark.parametrize(("answer", "message"), FAILURES.values(), ids=FAILURES)
async def test_failing_extender_fails_the_attempt_unless_it_is_ignorable(
    answer: Callable[[Any], Any], message: str
) -> None:
    cluster = world((FILTER_ONLY, ExtenderServer(filter=answer)))
    result = await attempt(cluster, pod("p"))
    assert isinstance(result, UnschedulablePod)
    assert result.is_fault
    assert result.message.startswith(message)
    ignorable = ExtenderSettings(url_prefix=URL, filter_verb="filter", node_cache_capable=True, ignorable=True)
    assert await place(world((ignorable, ExtenderServer(filter=answer))), pod("p")) in {"a", "b", "c"}


async def test_oversized_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_extender, "ANSWER_MAX_BYTES", 10)
    cluster = world((FILTER_ONLY, ExtenderServer(filter=lambda _: {"NodeNames": ["a", "b"]})))
    assert await place(cluster, pod("p")) == f'Post "{URL}/filter": the response is larger than 10 bytes'


async def test_slow_extender_fails_the_attempt_after_its_timeout() -> None:
    clock, server = FakeClock(), ExtenderServer()
    server.gate.clear()
    cluster = world((FILTER_ONLY, server), clock=clock)
    running = asyncio.create_task(place(cluster, pod("p")))
    await server.waiting.wait()
    await clock.advance(5)
    assert await running == (
        f'Post "{URL}/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    )


async def test_only_pods_with_managed_resources_are_sent() -> None:
    settings = ExtenderSettings(
        url_prefix=URL,
        filter_verb="filter",
        node_cache_capable=True,
        managed_resources=frozenset({"example.com/a"}),
    )
    server = ExtenderServer(filter=lambda _: {"NodeNames": ["a"]})
    cluster = world((settings, server), nodes="")
    cluster.core.set_node(node("a", allocatable={"example.com/a": "1"}))
    await place(cluster, pod("p", cpu="1"))
    assert not server.requests
    using = pod("q", cpu="1")
    using.spec.containers[0].resources.limits = using.spec.containers[0].resources.requests = {"example.com/a": "1"}
    assert await place(cluster, using) == "a"
    assert len(server.requests) == 1


# The nominated node


async def test_nominated_node_passes_the_extenders_or_the_others_are_evaluated() -> None:
    requested: list[list[str]] = []

    def refuse_nominated(args: Any) -> Any:
        requested.append(args["NodeNames"])
        return {"Error": "no"} if args["NodeNames"] == ["a"] else {"NodeNames": ["b"]}

    cluster = world((FILTER_ONLY, ExtenderServer(filter=refuse_nominated)))
    assert await place(cluster, pod("p", status={"nominatedNodeName": "a"})) == "b"
    assert [len(names) for names in requested] == [1, 3]


# Prioritize


async def test_scores_are_scaled_weighted_and_added() -> None:
    settings = ExtenderSettings(url_prefix=URL, prioritize_verb="prioritize", weight=2, node_cache_capable=True)
    server = ExtenderServer(prioritize=lambda _: [{"Host": "b", "Score": 10}, {"host": "c", "score": 9}])
    chain = ExtenderChain([HTTPExtender(settings, server, clock=FakeClock())] * 2)
    assert await chain.prioritize(PodInfo(pod("p")), []) == {"b": 400, "c": 360}
    assert await place(world((settings, server)), pod("p")) == "b"


async def test_failing_prioritizer_gives_no_scores() -> None:
    settings = ExtenderSettings(url_prefix=URL, prioritize_verb="prioritize", weight=2)
    server = ExtenderServer(prioritize=lambda _: [{"Host": "b", "Score": 1.5}])
    assert await place(world((settings, server)), pod("p")) in {"a", "b", "c"}
    assert server.requests


# Preemption


def crowded(*extenders: tuple[ExtenderSettings, ExtenderServer]) -> tuple[World, dict[str, str]]:
    """Return a world of full nodes, and the UIDs of the pods on them by node."""
    cluster = world(*extenders)
    return cluster, {name: cluster.running(name, pod(f"on-{name}", cpu="4")).metadata.uid or "" for name in "abc"}


PREEMPT = ExtenderSettings(url_prefix=URL, preempt_verb="preempt", node_cache_capable=True)


async def test_extender_chooses_among_candidates_of_preemption() -> None:
    server = ExtenderServer(preempt=lambda args: {"NodeNameToMetaVictims": {"b": args["NodeNameToMetaVictims"]["b"]}})
    cluster, uids = crowded((PREEMPT, server))
    result = await attempt(cluster, pod("p", cpu="4", priority=5))
    assert isinstance(result, UnschedulablePod)
    assert result.victims is not None
    assert (result.victims.node, [victim.uid for victim in result.victims.pods]) == ("b", [uids["b"]])
    ((_, args),) = server.requests
    assert args["NodeNameToVictims"] is None
    assert args["NodeNameToMetaVictims"]["a"] == {"Pods": [{"UID": uids["a"]}], "NumPDBViolations": 0}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"NodeNameToMetaVictims": {}}, "no candidate node for preemption"),
        ({"NodeNameToMetaVictims": {"a": {"Pods": []}}}, 'expected at least one victim pod on node "a"'),
        ({"NodeNameToMetaVictims": {"z": {"Pods": []}}}, 'nodeinfo not found for node name "z"'),
        (
            {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}]}}},
            f"extender: {URL} claims to preempt pod (UID: &{{u}}) on node: a, but the pod is not found on that node",
        ),
    ],
)
async def test_pod_is_unschedulable_when_an_extender_prevents_preemption(answer: Any, message: str) -> None:
    cluster, _ = crowded((PREEMPT, ExtenderServer(preempt=lambda _: answer)))
    result = await attempt(cluster, pod("p", cpu="4", priority=5))
    assert isinstance(result, UnschedulablePod)
    assert result.victims is None
    assert result.message.startswith("0/3 nodes are available: 3 Insufficient cpu. ")
    assert result.message.endswith(f" preemption: {message}")


async def test_ignorable_extender_does_not_prevent_preemption() -> None:
    settings = ExtenderSettings(url_prefix=URL, preempt_verb="preempt", ignorable=True)
    cluster, _ = crowded((settings, ExtenderServer(preempt=lambda _: Answer(500, b""))))
    result = await attempt(cluster, pod("p", cpu="4", priority=5))
    assert isinstance(result, UnschedulablePod)
    assert result.victims is not None


# Changes of the cluster while an extender responds


async def test_event_during_the_attempt_requeues_the_pod() -> None:
    server = ExtenderServer(filter=lambda _: {"NodeNames": []})
    server.gate.clear()
    cluster = world((FILTER_ONLY, server))
    running = asyncio.create_task(attempt(cluster, pod("p")))
    await server.waiting.wait()
    cluster.core.set_node(node("d"))
    server.gate.set()
    assert isinstance(await running, UnschedulablePod)
    assert not cluster.core.queue.has_unschedulable
    assert cluster.core.queue.counts()["backoff"] == 1


@pytest.mark.parametrize("names", [[], ["a"]])
async def test_attempt_is_abandoned_when_the_pod_is_assigned_meanwhile(names: list[str]) -> None:
    server = ExtenderServer(filter=lambda _: {"NodeNames": names})
    server.gate.clear()
    cluster = world((FILTER_ONLY, server))
    asking = pod("p", cpu="1")
    running = asyncio.create_task(attempt(cluster, asking))
    await server.waiting.wait()
    cluster.running("b", asking)
    server.gate.set()
    assert await running is None
    info = cluster.core.cluster.get("b")
    assert info is not None
    assert [other.name for other in info.pods.values()] == ["p"]
    assert not cluster.core.cluster.is_assumed(asking.metadata.uid or "")


async def test_node_that_is_deleted_meanwhile_is_not_selected() -> None:
    server = ExtenderServer(filter=lambda _: {"NodeNames": ["a"]})
    server.gate.clear()
    cluster = world((FILTER_ONLY, server))
    running = asyncio.create_task(place(cluster, pod("p")))
    await server.waiting.wait()
    cluster.core.remove_node("a")
    server.gate.set()
    assert await running == 'nodeinfo not found for node name "a"'


# Binding, and a scheduler with real connections


async def read_http(reader: asyncio.StreamReader) -> str:
    """Return request line and body of one request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(int(line[16:]) for line in head.lower().splitlines() if line.startswith("content-length: "))
    body = (await reader.readexactly(length)).decode()
    return f"{head.splitlines()[0]} {body}"


async def answer_http(writer: asyncio.StreamWriter, answer: bytes) -> None:
    """Send a response with a JSON body."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer))
    await writer.drain()


async def test_bind_sends_pod_and_node_over_a_connection() -> None:
    requests: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_http(reader))
        await answer_http(writer, b"{}")

    async with listening(serve) as port:
        settings = ExtenderSettings(url_prefix=f"http://127.0.0.1:{port}/a b/", bind_verb="bind")
        chain = connect_extenders([settings], clock=RealClock())
        info = PodInfo(pod("p"))
        assert await chain.bind(info, "n")
        await chain.close()
    body = {"PodName": "p", "PodNamespace": "default", "PodUID": info.uid, "Node": "n"}
    assert requests == [f"POST /a%20b/bind HTTP/1.1 {json.dumps(body, separators=(',', ':'))}"]


async def test_unreachable_extender_is_an_error() -> None:
    with closed_port() as port:
        settings = ExtenderSettings(url_prefix=f"https://127.0.0.1:{port}", bind_verb="bind", enable_https=True)
        chain = connect_extenders([settings], clock=RealClock())
        with pytest.raises(ExtenderError, match=f'Post "https://127.0.0.1:{port}/bind": .*onnect'):
            await chain.bind(PodInfo(pod("p")), "n")
        await chain.close()


DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("age", "is_known", "server_name", "message"),
    [
        (timedelta(0), True, "extender", ""),
        (timedelta(0), True, "another", "certificate verify failed: Hostname mismatch"),
        (timedelta(0), False, "extender", "certificate verify failed"),
        (3 * DAY, True, "extender", "certificate verify failed: certificate has expired"),
    ],
    ids=["valid", "another name", "unknown authority", "expired"],
)
async def test_certificate_of_an_extender_is_verified(
    tmp_path: Path, age: timedelta, is_known: bool, server_name: str, message: str
) -> None:
    now = RealClock().now() - age
    authority = make_ca("extender-ca", now=now, life=DAY)
    pems = make_server("extender", ["extender"], authority, now=now, life=DAY)
    trusted = authority if is_known else make_ca("another-ca", now=now, life=DAY)
    (tmp_path / "pair.pem").write_bytes(pems.certificate + pems.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "pair.pem")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_http(reader)
        await answer_http(writer, b"{}")

    async with listening(serve, tls=context) as port:
        settings = ExtenderSettings(
            url_prefix=f"https://127.0.0.1:{port}",
            bind_verb="bind",
            enable_https=True,
            tls=ExtenderTLS(ca_data=trusted.certificate, server_name=server_name),
        )
        chain = connect_extenders([settings], clock=RealClock())
        if message:
            with pytest.raises(ExtenderError, match=message):
                await chain.bind(PodInfo(pod("p")), "n")
        else:
            assert await chain.bind(PodInfo(pod("p")), "n")
        await chain.close()


async def test_chain_lets_the_scheduler_bind_when_no_extender_does() -> None:
    ignorable = ExtenderSettings(url_prefix=URL, bind_verb="bind", ignorable=True)
    server = ExtenderServer(bind=lambda _: {"Error": "no"})
    chain = ExtenderChain([HTTPExtender(ignorable, server, clock=FakeClock())])
    assert not await chain.bind(PodInfo(pod("p")), "n")
    await chain.close()
    assert server.closed


def test_extender_without_certificate_authority_is_not_verified_when_https_is_enabled() -> None:
    settings = ExtenderSettings(url_prefix="https://x", enable_https=True)
    assert not http_extender._access(settings)[0].verify
    verified = ExtenderSettings(url_prefix="https://x", enable_https=True, tls=ExtenderTLS(ca_data=b"ca"))
    assert http_extender._access(verified)[0].verify


@pytest.mark.parametrize("is_bound", [False, True], ids=["not bound", "bound"])
async def test_scheduler_reads_the_pod_back_after_an_error_of_the_binding_extender(is_bound: bool) -> None:
    schedulers: list[Running] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        args = json.loads((await read_http(reader)).partition("HTTP/1.1 ")[2])
        if is_bound:
            target = {"kind": "Node", "name": args["Node"]}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": args["PodName"]}, "target": target}
            client = schedulers[0].client
            await client.create_subresource(Pod, args["PodName"], "binding", binding, namespace=args["PodNamespace"])
        await answer_http(writer, b'{"Error":"the answer was lost"}')

    async with listening(serve) as port:
        settings = Settings(extenders=(ExtenderSettings(url_prefix=f"http://127.0.0.1:{port}", bind_verb="bind"),))
        async with started(settings) as running:
            schedulers.append(running)
            await running.node("n")
            await running.pod("p")
            if is_bound:
                assert await running.until(lambda: running.node_of("p")) == "n"
                assert await running.until(lambda: running.events("Scheduled")) == [
                    "Successfully assigned default/p to n"
                ]
            else:
                assert await running.until(lambda: running.message("p", "SchedulerError")) == "the answer was lost"
                assert await running.node_of("p") is None


async def test_transport_errors_name_the_request() -> None:
    def fail(_: Any) -> Any:
        raise TransportError("connection reset by peer")

    cluster = world((FILTER_ONLY, ExtenderServer(filter=fail)))
    assert await place(cluster, pod("p")) == f'Post "{URL}/filter": connection reset by peer'
