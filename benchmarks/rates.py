"""Shared parts of the benchmarks: objects, loads measured in turns, and report lines."""

from __future__ import annotations

import itertools
import json
import statistics
from typing import TYPE_CHECKING

import uvloop

from benchmarks.client import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.client import Result, Target

NAMESPACE = "/api/v1/namespaces/default"


def config_map(name: str) -> bytes:
    data = {"key-1": "value one", "key-2": "value two", "key-3": "value three"}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}).encode()


def pod(name: str) -> bytes:
    container = {
        "name": "main", "image": "registry.example.com/team/app:1.25.3", "ports": [{"containerPort": 8080}],
        "env": [{"name": "MODE", "value": "production"}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}},
    }  # fmt: skip
    metadata = {"name": name, "labels": {"app": "bench", "tier": "web"}}
    spec = {"containers": [container, {**container, "name": "side"}], "automountServiceAccountToken": False}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}).encode()


def distinct_pod(number: str) -> bytes:
    """Return a pod of the size of ``pod``, with a number of seven digits in images, variables, names and resources."""
    container = {
        "name": f"main-{number}", "image": f"registry.example.com/team/app:1.{number}",
        "ports": [{"name": f"p{number}", "containerPort": 8080}],
        "env": [{"name": f"MODE_{number}", "value": f"production-{number}"}],
        "resources": {
            "requests": {"cpu": "100m", "memory": f"{number}"}, "limits": {"cpu": "500m", "memory": f"{number}Ki"},
        },
    }  # fmt: skip
    metadata = {"name": f"d-{number}", "labels": {"app": "bench", "tier": "web"}}
    side = {
        **container, "name": f"side-{number}", "image": f"registry.example.com/team/side:1.{number}",
        "ports": [{"name": f"s{number}", "containerPort": 9090}],
    }  # fmt: skip
    spec = {"containers": [container, side], "automountServiceAccountToken": False}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}).encode()


class Report:
    """Lines of the table, and whether all targets were met."""

    def __init__(self) -> None:
        self.is_met = True

    def line(self, name: str, text: str, *, is_met: bool | None = None) -> None:
        mark = "" if is_met is None else ("  ok" if is_met else "  MISSED")
        self.is_met = self.is_met and is_met is not False
        print(f"{name:<34} {text}{mark}", flush=True)


def rate(target: Target, make: Callable[[], bytes], seconds: float) -> Result:
    result = uvloop.run(load(target, make, seconds=seconds))
    if result.errors:
        raise RuntimeError(f"answers with errors: {result.errors}")
    return result


def paired(first: Callable[[], Result], second: Callable[[], Result], rounds: int) -> tuple[list[Result], list[Result]]:
    """Measure both in turns, so that a change of the machine's speed affects both."""
    pairs = [(first(), second()) for _ in range(rounds)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def in_turns(measures: Mapping[str, Callable[[], Result]], rounds: int) -> dict[str, list[Result]]:
    """Measure all in turns for ``rounds`` rounds, each in another order."""
    results: dict[str, list[Result]] = {name: [] for name in measures}
    names = list(measures)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            results[name].append(measures[name]())
    return results


def ratio(ours: list[Result], theirs: list[Result]) -> float:
    """Return the median of the ratios of rates measured in the same round."""
    return statistics.median(a.rate / b.rate for a, b in zip(ours, theirs, strict=True))


def loop_ratio(ours: list[Result], theirs: list[Result]) -> float:
    """Return the median ratio of the event loop's CPU time per request, measured in the same round."""
    return statistics.median(a.loop_micros / b.loop_micros for a, b in zip(ours, theirs, strict=True))


def median_loop_micros(results: list[Result]) -> float:
    return statistics.median(result.loop_micros for result in results)


def median_rate(results: list[Result]) -> float:
    return statistics.median(result.rate for result in results)


def fill(target: Target, path: str, make: Callable[[str], bytes], count: int, prefix: str) -> None:
    names = (f"{prefix}-{n}" for n in itertools.count())
    result = uvloop.run(load(target, lambda: target.request("POST", path, make(next(names))), requests=count))
    if result.errors:
        raise RuntimeError(f"filling: {result.errors}")
