from __future__ import annotations

from tests.unit.apiserver.writing import PODS, Server, pod_spec

from steersman.apiserver.admission.interface import Operation, Plugin


class Watchful(Plugin):
    """Sees what is connected to, and may refuse it."""

    name = "ValidatingAdmissionWebhook"

    def __init__(self, *, refuses: bool = False) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.refuses = refuses

    def handles(self, resource, subresource, operation):
        del resource, subresource
        return operation is Operation.CONNECT

    async def validate(self, attributes):
        self.calls.append((attributes.name, attributes.namespace, attributes.subresource, attributes.object))
        if self.refuses:
            raise attributes.forbidden("no")


async def test_connect_admission_receives_the_stream_options():
    plugin = Watchful()
    async with Server(plugin) as server:
        await server.make(PODS, spec=pod_spec())
        await server.call("POST", f"{PODS}/a/exec", query="command=ls&tty=true")
        await server.call("GET", "/api/v1/nodes/n/proxy/a/b")
    options = {"kind": "PodExecOptions", "apiVersion": "v1", "command": ["ls"], "tty": True}
    path = {"kind": "NodeProxyOptions", "apiVersion": "v1", "path": "/a/b"}
    assert plugin.calls == [("a", "default", "exec", options), ("n", "", "proxy", path)]


async def test_connect_is_rejected_by_admission():
    async with Server(Watchful(refuses=True)) as server:
        await server.make(PODS, spec=pod_spec())
        answer = await server.call("POST", f"{PODS}/a/attach")
        assert (answer.code, answer.body["message"]) == (403, 'pods "a" is forbidden: no')


async def test_admission_is_not_called_for_logs():
    plugin = Watchful()
    async with Server(plugin) as server:
        await server.make(PODS, spec=pod_spec())
        await server.call("GET", f"{PODS}/a/log")
    assert plugin.calls == []
