"""Profiles for ``/debug/pprof``."""

import asyncio
import sys
import threading

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.runtime import profiling
from steersman.runtime.http import HttpServer
from steersman.runtime.profiling import CpuProfile, objects_by_type, stacks


class Marked:
    """Type that the garbage collector tracks."""


async def test_stacks_show_tasks_and_threads():
    started = asyncio.Event()

    async def waits():
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(waits(), name="waiter")
    await started.wait()
    text = stacks()
    task.cancel()
    assert "task waiter:" in text
    assert "waits" in text
    assert "thread MainThread:" in text


def test_objects_are_counted_by_type():
    retained = [Marked() for _ in range(5000)]
    counted = next(line for line in objects_by_type().splitlines() if line.endswith("test_profiling.Marked"))
    assert int(counted.split()[0]) == len(retained)


def test_cpu_profile_folds_the_stacks_of_other_threads():
    started, ending = threading.Event(), threading.Event()

    def busy():
        started.set()
        ending.wait()

    thread = threading.Thread(target=busy)
    thread.start()
    started.wait()
    profile = CpuProfile()
    for _ in range(3):
        profile.sample()
    ending.set()
    thread.join()
    (line,) = [line for line in profile.text().splitlines() if ".busy" in line]
    assert line.endswith(" 3")
    assert "threading.Thread.run;" in line


def test_cpu_profile_that_is_stopped_ends():
    profile = CpuProfile()
    profile.stop()
    profile.run(1000)
    assert profile.text() == ""


@pytest.fixture
def server():
    http_server = HttpServer(clock=FakeClock())
    profiling.add_pages(http_server)
    return http_server


async def test_pages_are_those_of_pprof_that_have_an_equivalent(server):
    names = ("", "/", "/cmdline", "/goroutine", "/heap", "/profile")
    assert server.paths == [f"/debug/pprof{name}" for name in names]


async def test_unknown_profile_is_404(server):
    page = await profiling.unknown_page({})
    assert (page.status, page.body) == (404, b"Unknown profile\n")


async def test_command_line_is_separated_by_nul():
    page = await profiling._command_line_page({})
    assert page.body.decode().split("\0")[0] == sys.executable


@pytest.mark.parametrize("seconds", ["0", "-1", "301", "x"])
async def test_cpu_profile_of_an_impossible_time_is_400(seconds):
    assert (await profiling._cpu_page({"seconds": seconds})).status == 400


async def test_cpu_profile_page_has_one_line_for_each_stack():
    page = await profiling._cpu_page({"seconds": "0.01"})
    assert page.status == 200
    assert all(line.rsplit(" ", 1)[1].isdigit() for line in page.body.decode().splitlines())
    assert page.body
