"""TTL steps by cluster size, with hysteresis between them. Pure rules."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from steersman.client.objects import annotations_of

ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"


class Step(NamedTuple):
    """Cluster sizes and TTL of one step."""

    size_min: int
    size_max: float
    ttl_seconds: int


STEPS: Final = (
    Step(0, 100, 0), Step(90, 500, 15), Step(450, 1000, 30), Step(900, 2000, 60), Step(1800, float("inf"), 300),
)  # fmt: skip


def step_for(size: int, current: int) -> int:
    """Return the index into ``STEPS`` for a cluster that was in step ``current``."""
    while size > STEPS[current].size_max:
        current += 1
    while size < STEPS[current].size_min:
        current -= 1
    return current


def annotation_patch(node: Any, step: int) -> dict[str, Any] | None:
    """Return the patch of the annotation; None if up to date."""
    ttl_text = str(STEPS[step].ttl_seconds)
    if annotations_of(node).get(ANNOTATION) == ttl_text:
        return None
    return {"metadata": {"annotations": {ANNOTATION: ttl_text}}}
