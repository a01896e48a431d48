"""Annotations ``nodes.steersman.dev/…`` that make containers of a simulated pod fail, start slowly, or exit.

An annotation applies to all containers of the pod; with a suffix ``.CONTAINER`` it applies to that container only, and
takes precedence there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steersman.apimachinery.trees import Tree


PREFIX: Final = "nodes.steersman.dev/"
RUN_SECONDS: Final = f"{PREFIX}run-seconds"
EXIT_CODE: Final = f"{PREFIX}exit-code"
CRASH_AFTER: Final = f"{PREFIX}crash-after-seconds"
OOM_AFTER: Final = f"{PREFIX}oom-after-seconds"
IMAGE_PULL_ERROR: Final = f"{PREFIX}image-pull-error"
IMAGE_PULL_ERROR_SECONDS: Final = f"{PREFIX}image-pull-error-seconds"
START_SECONDS: Final = f"{PREFIX}start-seconds"
READY_AFTER: Final = f"{PREFIX}ready-after-seconds"
UNREADY_AFTER: Final = f"{PREFIX}unready-after-seconds"
UNREADY_SECONDS: Final = f"{PREFIX}unready-seconds"
HANG_AFTER: Final = f"{PREFIX}hang-after-seconds"
EVICT_AFTER: Final = f"{PREFIX}evict-after-seconds"
EVICT_RESOURCE: Final = f"{PREFIX}evict-resource"

#: Annotations whose value is a number of seconds.
DURATIONS: Final = (
    RUN_SECONDS, CRASH_AFTER, OOM_AFTER, IMAGE_PULL_ERROR_SECONDS, START_SECONDS, READY_AFTER, UNREADY_AFTER,
    UNREADY_SECONDS, HANG_AFTER, EVICT_AFTER,
)  # fmt: skip
#: Resources of evictions, with the names of the kubelet's eviction manager.
EVICTION_RESOURCES: Final = ("memory", "ephemeral-storage", "inodes", "pids")


class Behavior(NamedTuple):
    """Behavior of one container; None and 0 are healthy. Times are seconds since the start of the container."""

    #: Error of the image pull; empty if the pull succeeds.
    image_pull_error: str = ""
    #: Duration of the failing pulls; None: forever.
    image_pull_error_seconds: float | None = None
    run_seconds: float | None = None
    exit_code: int | None = None
    crash_after_seconds: float | None = None
    oom_after_seconds: float | None = None
    #: Time before which probes fail.
    start_seconds: float = 0.0
    #: Start of the readiness probe's failures.
    unready_after_seconds: float | None = None
    #: Duration of the readiness probe's failures; None: forever.
    unready_seconds: float | None = None
    #: Start of the failures of liveness and readiness probes.
    hang_after_seconds: float | None = None


HEALTHY: Final = Behavior()


def annotations_of(pod: Tree) -> Mapping[str, str]:
    """Return the pod's annotations that this module defines."""
    notes = pod["metadata"].get("annotations") or {}
    return {name: value for name, value in notes.items() if name.startswith(PREFIX)}


def parse_seconds(text: str | None) -> float | None:
    """Parse a finite number of seconds, at least 0; None for anything else."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def parse_exit_code(text: str | None) -> int | None:
    """Parse an exit code from 0 to 255; None for anything else."""
    code = parse_seconds(text)
    return int(code) if code is not None and code == int(code) and code <= 255 else None


def behavior_of(annotations: Mapping[str, str], container: str) -> Behavior:
    """Read the behavior of one container. Invalid values are ignored; ``invalid_annotations`` reports them."""
    if not annotations:
        return HEALTHY

    def text(name: str) -> str | None:
        return annotations.get(f"{name}.{container}", annotations.get(name))

    def seconds(name: str) -> float | None:
        return parse_seconds(text(name))

    unready_after, unready_seconds = seconds(UNREADY_AFTER), seconds(UNREADY_SECONDS)
    if unready_after is None and (late := seconds(READY_AFTER)) is not None:
        unready_after, unready_seconds = 0.0, late
    pull_error = text(IMAGE_PULL_ERROR) or ""
    return Behavior(
        image_pull_error="" if pull_error == "false" else pull_error,
        image_pull_error_seconds=seconds(IMAGE_PULL_ERROR_SECONDS),
        run_seconds=seconds(RUN_SECONDS),
        exit_code=parse_exit_code(text(EXIT_CODE)),
        crash_after_seconds=seconds(CRASH_AFTER),
        oom_after_seconds=seconds(OOM_AFTER),
        start_seconds=seconds(START_SECONDS) or 0.0,
        unready_after_seconds=unready_after,
        unready_seconds=unready_seconds,
        hang_after_seconds=seconds(HANG_AFTER),
    )


def invalid_annotations(annotations: Mapping[str, str]) -> Iterator[str]:
    """Return one message for each invalid value."""
    for name, value in sorted(annotations.items()):
        base = next(
            (
                annotation
                for annotation in (*DURATIONS, EXIT_CODE)
                if name == annotation or name.startswith(f"{annotation}.")
            ),
            None,
        )
        if base == EXIT_CODE and parse_exit_code(value) is None:
            yield f'{name}: "{value}" is not an exit code from 0 to 255'
        elif base in DURATIONS and parse_seconds(value) is None:
            yield f'{name}: "{value}" is not a number of seconds'
    resource = annotations.get(EVICT_RESOURCE)
    if resource is not None and resource not in EVICTION_RESOURCES:
        yield f'{EVICT_RESOURCE}: "{resource}" is not one of {", ".join(EVICTION_RESOURCES)}'
