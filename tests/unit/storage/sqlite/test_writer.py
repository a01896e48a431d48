"""``tests/conformance/storage/test_writers.py`` tests both bodies."""

from __future__ import annotations

import pytest

from steersman.storage.sqlite import writer
from steersman.storage.sqlite.writer import InFlight, writer_kind


@pytest.mark.parametrize(("cpus", "kind"), [({3}, "thread"), ({0, 3}, "process")])
def test_writer_kind_depends_on_the_cpus_of_this_process(monkeypatch, cpus, kind):
    monkeypatch.setattr(writer.os, "sched_getaffinity", lambda _pid: cpus, raising=False)
    assert writer_kind() == kind


@pytest.mark.parametrize(("cpus", "kind"), [(1, "thread"), (2, "process"), (None, "process")])
def test_writer_kind_depends_on_the_cpus_of_the_machine_where_there_is_no_affinity(monkeypatch, cpus, kind):
    monkeypatch.delattr(writer.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(writer.os, "cpu_count", lambda: cpus)
    assert writer_kind() == kind


@pytest.mark.parametrize(
    ("on_disk", "result"), [(0, (0, True)), (5, (0, True)), (6, (1, True)), (8, (3, True)), (9, (4, False))]
)
def test_take_all_counts_frames_on_disk(on_disk, result):
    requests = []

    def reached(fingerprints):
        requests.append(fingerprints)
        return on_disk

    in_flight = InFlight(reached)
    for revision in (5, 6, 0, 8, 9):
        in_flight.add(revision, revision * 10)
    assert in_flight.settle(1, "") == 1
    assert in_flight.take_all() == result
    assert requests == [{6: 60, 0: 0, 8: 80, 9: 90}]
    assert len(in_flight) == 0


def test_settle_with_an_error_removes_all_frames():
    in_flight = InFlight(lambda _fingerprints: 9)
    in_flight.add(1, 1)
    in_flight.add(2, 2)
    assert in_flight.settle(1, "disk I/O error") == 0
    assert len(in_flight) == 0


def test_clear_removes_all_frames():
    in_flight = InFlight(lambda _fingerprints: 9)
    in_flight.add(1, 1)
    in_flight.clear()
    assert in_flight.take_all() == (0, False)
