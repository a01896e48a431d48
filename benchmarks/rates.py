"""What the parts of the benchmark share: objects, loads measured in turns, and the lines of the report."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import uvloop

from benchmarks.client import load

if TYPE_CHECKING:
    from collections.abc import Callable

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


class Report:
    """Lines of the table, and whether all targets were met."""

    def __init__(self) -> None:
        self.met = True

    def line(self, name: str, text: str, *, met: bool | None = None) -> None:
        mark = "" if met is None else ("  ok" if met else "  MISSED")
        self.met = self.met and met is not False
        print(f"{name:<28} {text}{mark}", flush=True)


def rate(target: Target, make: Callable[[], bytes], seconds: float) -> Result:
    result = uvloop.run(load(target, make, seconds=seconds))
    if result.errors:
        raise RuntimeError(f"answers with errors: {result.errors}")
    return result


def paired(first: Callable[[], Result], second: Callable[[], Result], rounds: int) -> tuple[list[Result], list[Result]]:
    """Measured in turns, so that a change of the machine's speed hits both."""
    pairs = [(first(), second()) for _ in range(rounds)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def fill(target: Target, path: str, make: Callable[[str], bytes], count: int, prefix: str) -> None:
    names = (f"{prefix}-{n}" for n in itertools.count())
    result = uvloop.run(load(target, lambda: target.request("POST", path, make(next(names))), requests=count))
    if result.errors:
        raise RuntimeError(f"filling: {result.errors}")
