"""``/configz``, ``/flagz`` and ``/statusz``."""

import json
from pathlib import Path

import msgspec
import pytest
from tests.unit.listening import connected_to

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.component_pages import ComponentDescription, add_debug_flags, add_pages, configuration_of
from steersman.runtime.http import HttpServer


class Options(msgspec.Struct):
    lease_duration_seconds: float = 90.0
    kubeconfig: Path | None = Path("/a")
    controllers: tuple[str, ...] = ("*",)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def body_of(clock):
    description = ComponentDescription(
        component="kube-scheduler",
        configuration_name="componentconfig",
        configuration=configuration_of(Options()),
        flags={"v": "2", "bind-address": "::1"},
    )
    async with HttpServer(host="127.0.0.1", clock=clock) as server:
        add_pages(server, description, clock=clock)

        async def get(path, accept=""):
            async with connected_to("127.0.0.1", server.port) as (reader, writer):
                writer.write(f"GET {path} HTTP/1.1\r\nAccept: {accept}\r\n\r\n".encode())
                return (await reader.read()).partition(b"\r\n\r\n")[2].decode()

        yield get


async def test_configz_has_the_options_as_a_configuration(body_of):
    document = json.loads(await body_of("/configz"))
    assert document == {"componentconfig": {"leaseDuration": "1m30s", "kubeconfig": "/a", "controllers": ["*"]}}


async def test_flagz_lists_flags_sorted(body_of):
    lines = (await body_of("/flagz")).splitlines()
    assert lines[1] == "kube-scheduler flagz"
    assert lines[-2:] == ["bind-address=::1", "v=2"]


async def test_statusz_has_the_time_since_the_start_and_all_paths(body_of, clock):
    await clock.advance(3725)
    lines = (await body_of("/statusz")).splitlines()
    assert "Up: 1 hr 02 min 05 sec" in lines
    assert "Emulation version: 1.36" in lines
    assert lines[-1] == "Paths: /configz /flagz /statusz"


async def test_pages_are_objects_when_the_client_accepts_them(body_of, clock):
    await clock.advance(60)
    form = "application/json;g=config.k8s.io;v=v1beta1;as="
    status = json.loads(await body_of("/statusz", f"{form}Statusz"))
    assert (status["kind"], status["metadata"]["name"], status["uptimeSeconds"]) == ("Statusz", "kube-scheduler", 60)
    assert status["paths"] == ["/configz", "/flagz", "/statusz"]
    flags = json.loads(await body_of("/flagz", f"{form}Flagz"))
    assert flags["flags"] == {"bind-address": "::1", "v": "2"}
    refused = json.loads(await body_of("/flagz", "application/json"))
    assert (refused["code"], refused["reason"]) == (406, "NotAcceptable")


async def test_debug_flags_of_a_component(monkeypatch):
    verbosities = []
    monkeypatch.setattr("steersman.runtime.debug_flags.set_verbosity", verbosities.append)
    async with HttpServer(host="127.0.0.1", clock=FakeClock()) as server:
        add_debug_flags(server)
        bodies = []
        for request in (
            b"PUT /debug/flags/v HTTP/1.1\r\nContent-Length: 1\r\n\r\n4",
            b"GET /debug/flags HTTP/1.1\r\n\r\n",
            b"GET /debug/flags/other HTTP/1.1\r\n\r\n",
        ):
            async with connected_to("127.0.0.1", server.port) as (reader, writer):
                writer.write(request)
                bodies.append((await reader.read()).partition(b"\r\n\r\n")[2])
    assert verbosities == [4]
    assert bodies[0] == b"successfully set klog.logging.verbosity to 4\n"
    assert bodies[1] == bodies[2]
    assert b"<tr>v" in bodies[1]


def test_feature_gates_switch_pages_off():
    gates = {"ComponentFlagz": False, "ComponentStatusz": False}
    description = ComponentDescription(component="c", configuration_name="n", configuration={}, flags={}, gates=gates)
    server = HttpServer(clock=FakeClock())
    add_pages(server, description, clock=FakeClock())
    assert server.paths == ["/configz"]
