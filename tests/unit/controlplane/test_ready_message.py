"""The text that is printed when pods can run."""

from __future__ import annotations

from typing import Any

from steersman.controlplane.ready_message import HINTS, is_ready, ready_message


def node(ready: str) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


def test_is_ready_reads_the_condition() -> None:
    assert [is_ready(node("True")), is_ready(node("Unknown")), is_ready({})] == [True, False, False]


def test_ready_message_names_the_node_and_what_to_try_next() -> None:
    first, *hints = ready_message("node-0", 0.8)
    assert first == "node node-0 is Ready after 0.80 s: pods run now"
    assert len(hints) == len(HINTS)
    assert len({line.index(effect) for line, (_, effect) in zip(hints, HINTS, strict=True)}) == 1
