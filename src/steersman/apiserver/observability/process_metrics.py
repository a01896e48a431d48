"""``process_*`` and ``python_*`` metrics, read from ``/proc`` per scrape."""

from __future__ import annotations

import gc
import os
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from steersman.apiserver.observability.metrics import Family, counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROC = Path("/proc")


async def collect() -> Iterable[Family]:
    """Return times, memory and file descriptors; fewer on systems without ``/proc``."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    families = [
        counter(
            "process_cpu_seconds_total", "Processor time used, in seconds.", [((), usage.ru_utime + usage.ru_stime)]
        ),
        gauge("process_max_fds", "Files that may be open.", [((), resource.getrlimit(resource.RLIMIT_NOFILE)[0])]),
        gauge("python_info", "The interpreter.", [(_interpreter(), 1)]),
        counter(
            "python_gc_collections_total",
            "Runs of the garbage collector.",
            [((("generation", str(n)),), stats["collections"]) for n, stats in enumerate(gc.get_stats())],
        ),
    ]
    if (_PROC / "self/stat").exists():
        families += _from_proc()
    return families


def _interpreter() -> tuple[tuple[str, str], ...]:
    version = ".".join(map(str, sys.version_info[:3]))
    return (("implementation", sys.implementation.name), ("version", version))


def _from_proc() -> list[Family]:
    # Fields after the name in parentheses, which may contain anything: proc_pid_stat(5); the first is field 3.
    fields = (_PROC / "self/stat").read_text().rpartition(")")[2].split()
    start_ticks, virtual_bytes, resident_pages = int(fields[19]), int(fields[20]), int(fields[21])
    boot_seconds = next(
        int(line.split()[1]) for line in (_PROC / "stat").read_text().splitlines() if line.startswith("btime")
    )
    started = boot_seconds + start_ticks / os.sysconf("SC_CLK_TCK")
    resident = resident_pages * os.sysconf("SC_PAGE_SIZE")
    return [
        gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", [((), started)]),
        gauge("process_virtual_memory_bytes", "Address space in use.", [((), virtual_bytes)]),
        gauge("process_resident_memory_bytes", "Memory in use.", [((), resident)]),
        gauge("process_open_fds", "Open files.", [((), len(os.listdir("/proc/self/fd")))]),  # noqa: PTH208 — no paths wanted
    ]
