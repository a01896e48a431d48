"""Profiles of this process for ``/debug/pprof``: tasks and threads, CPU by sampling, and objects by type.

The paths are those of Go's ``net/http/pprof``, the formats are text: stacks as tracebacks, and CPU profiles as folded stacks
(``frame;frame count``), which flame graph tools read.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import traceback
from collections import Counter
from typing import TYPE_CHECKING, Final

from steersman.runtime.http import Page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    from steersman.runtime.http import HttpServer, PageHandler

PREFIX: Final = "/debug/pprof/"
SECONDS_DEFAULT: Final = 30.0
SECONDS_MAX: Final = 300.0
_INTERVAL_SECONDS: Final = 0.01
_TYPES_MAX: Final = 100
_INDEX: Final = """/debug/pprof/

cmdline    command line of this process
goroutine  stacks of all asyncio tasks and threads
heap       number of objects by type, as the garbage collector tracks them
profile    CPU profile as folded stacks; ?seconds=N, 30 by default
"""


#: Additional time for the text of a profile.
_REST_SECONDS: Final = 10.0


def add_pages(server: HttpServer) -> None:
    """Serve all profiles."""
    server.add(PREFIX.removesuffix("/"), index_page)
    for name, page in PAGES.items():
        server.add(f"{PREFIX}{name}", page, timeout_seconds=SECONDS_MAX + _REST_SECONDS)
    server.add_prefix(PREFIX, unknown_page)


def stacks() -> str:
    """Return the stacks of all tasks of the running loop and of all threads."""
    return "\n".join([*_task_stacks(), *_thread_stacks()])


def _task_stacks() -> Iterator[str]:
    for task in asyncio.all_tasks():
        lines = [f"task {task.get_name()}:"]
        lines += [
            f"  {frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}" for frame in task.get_stack()
        ]
        yield "\n".join([*lines, ""])


def _thread_stacks() -> Iterator[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        yield f"thread {names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}"


def objects_by_type() -> str:
    """Return the most frequent types of objects tracked by the garbage collector, with their counts."""
    counts = Counter(f"{type(obj).__module__}.{type(obj).__qualname__}" for obj in gc.get_objects())
    lines = [f"{count:>10} {name}" for name, count in counts.most_common(_TYPES_MAX)]
    return "\n".join([f"{counts.total()} objects of {len(counts)} types", *lines, ""])


class CpuProfile:
    """Folded stacks of all threads except the sampling one, with their numbers of samples."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._stopped = threading.Event()

    def run(self, seconds: float) -> None:
        """Sample for a duration, or until ``stop``; must be called in a separate thread."""
        for _ in range(max(1, round(seconds / _INTERVAL_SECONDS))):
            if self._stopped.wait(_INTERVAL_SECONDS):
                break
            self.sample()

    def stop(self) -> None:
        """End ``run`` early. Idempotent."""
        self._stopped.set()

    def sample(self) -> None:
        """Count the current stack of each other thread."""
        own = threading.get_ident()
        for ident, frame in sys._current_frames().items():
            if ident != own:
                self._counts[_folded(frame)] += 1

    def text(self) -> str:
        """Return one line for each stack, the most frequent first."""
        return "".join(f"{stack} {count}\n" for stack, count in self._counts.most_common())


def _folded(innermost: FrameType | None) -> str:
    frames: list[str] = []
    frame = innermost
    while frame is not None:
        code = frame.f_code
        frames.append(f"{frame.f_globals.get('__name__', '?')}.{code.co_qualname}")
        frame = frame.f_back
    return ";".join(reversed(frames))


async def unknown_page(_: object) -> Page:
    """Return the 404 of profiles that do not exist."""
    return Page(404, b"Unknown profile\n")


async def index_page(_: Mapping[str, str]) -> Page:
    """Return the list of the profiles."""
    return Page(200, _INDEX.encode())


async def _command_line_page(_: Mapping[str, str]) -> Page:
    return Page(200, "\0".join([sys.executable, *sys.argv]).encode())


async def _stacks_page(_: Mapping[str, str]) -> Page:
    return Page(200, stacks().encode())


async def _objects_page(_: Mapping[str, str]) -> Page:
    return Page(200, (await asyncio.to_thread(objects_by_type)).encode())


async def _cpu_page(query: Mapping[str, str]) -> Page:
    try:
        seconds = float(query.get("seconds") or SECONDS_DEFAULT)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= SECONDS_MAX:
        return Page(400, f"seconds must be a number greater than 0 and not above {SECONDS_MAX:g}\n".encode())
    profile = CpuProfile()
    try:
        await asyncio.to_thread(profile.run, seconds)
    finally:
        profile.stop()
    return Page(200, profile.text().encode())


#: Pages by name; the empty name is the index.
PAGES: Final[Mapping[str, PageHandler]] = {
    "": index_page,
    "cmdline": _command_line_page,
    "goroutine": _stacks_page,
    "heap": _objects_page,
    "profile": _cpu_page,
}
