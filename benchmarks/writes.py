"""Writes that no cache of equal requests can serve: distinct pods, custom resources, patches and applies with changes.

Each beside the bare handler, which reads a body of the same size; distinct pods also beside pods that are alike.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

from benchmarks.applies import APPLY, deployment
from benchmarks.client import Template
from benchmarks.definitions import establish
from benchmarks.rates import (
    NAMESPACE,
    config_map,
    distinct_pod,
    fill,
    in_turns,
    loop_ratio,
    median_loop_micros,
    median_rate,
    pod,
    rate,
    ratio,
)
from benchmarks.servers import api_server, bare_server
from benchmarks.users import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.client import Result
    from benchmarks.rates import Report

_GROUP = "bench.example.com"
#: Target: share of the rate of pods that are alike.
_DISTINCT_MIN = 0.70
#: Objects patched in turns, so that none waits for another.
_PATCHED = 200

_SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["schedule", "replicas"],
            "x-kubernetes-validations": [
                {"rule": "self.minReplicas <= self.replicas", "message": "replicas are below the minimum"},
                {"rule": "self.jobs.all(job, job.name.startsWith(self.prefix))"},
            ],
            "properties": {
                "schedule": {"type": "string", "pattern": r"^(\S+ ){4}\S+$"},
                "suspend": {"type": "boolean", "default": False},
                "prefix": {"type": "string", "maxLength": 32, "default": "job-"},
                "replicas": {"type": "integer", "minimum": 0, "maximum": 10_000_000},
                "minReplicas": {"type": "integer", "minimum": 0, "default": 1},
                "jobs": {
                    "type": "array",
                    "maxItems": 16,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name", "image"],
                        "x-kubernetes-validations": [{"rule": "!has(self.retries) || self.retries < 10"}],
                        "properties": {
                            "name": {"type": "string", "maxLength": 63},
                            "image": {"type": "string", "minLength": 1, "maxLength": 255},
                            "retries": {"type": "integer"},
                        },
                    },
                },
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def definition() -> dict[str, object]:
    """Return a CustomResourceDefinition of namespaced resources with a schema, defaults and CEL rules."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}
    names = {"plural": "crontasks", "singular": "crontask", "kind": "CronTask", "listKind": "CronTaskList"}
    spec = {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"crontasks.{_GROUP}"},
        "spec": spec,
    }


def cron_task(number: str) -> bytes:
    jobs = [{"name": f"job-{n}-{number}", "image": f"registry/app:{number}", "retries": n} for n in range(4)]
    spec = {"schedule": "*/5 * * * *", "replicas": 3, "jobs": jobs}
    metadata = {"name": f"task-{number}", "labels": {"app": "bench"}}
    return json.dumps({"apiVersion": f"{_GROUP}/v1", "kind": "CronTask", "metadata": metadata, "spec": spec}).encode()


def _changed_data(number: str) -> bytes:
    return json.dumps({"data": {"key-2": f"value {number}"}}).encode()


def _changed_image(number: str) -> bytes:
    container = {"name": "main", "image": f"registry.example.com/team/app:1.{number}"}
    return json.dumps({"spec": {"template": {"spec": {"containers": [container]}}}}).encode()


def _changed_deployment(name: str) -> Callable[[str], bytes]:
    def make(number: str) -> bytes:
        tree = deployment(name)
        tree["spec"]["template"]["metadata"]["annotations"] = {"bench.example.com/revision": number}
        return json.dumps(tree).encode()

    return make


class _Numbers:
    """Distinct numbers of seven digits."""

    def __init__(self) -> None:
        self._counter = itertools.count(1_000_000)

    def next(self) -> bytes:
        return b"%d" % next(self._counter)


def measure_writes(report: Report, seconds: float, rounds: int) -> None:
    numbers = _Numbers()
    with api_server() as server:
        target = server.target
        prepare(server)
        establish(target, [definition()])
        deployments = f"/apis/apps/v1{NAMESPACE.removeprefix('/api/v1')}/deployments"
        fill(target, f"{NAMESPACE}/configmaps", config_map, _PATCHED, "c")
        fill(target, deployments, lambda name: json.dumps(deployment(name)).encode(), _PATCHED, "d")

        def creates(path: str, make: Callable[[str], bytes]) -> Callable[[], Result]:
            template = Template(target, path, make)
            return lambda: rate(target, lambda: template.request(numbers.next()), seconds)

        def changes(
            prefix: str, make: Callable[[str], Callable[[str], bytes]], content_type: str, query: str = ""
        ) -> Callable[[], Result]:
            path = deployments if prefix == "d" else f"{NAMESPACE}/configmaps"
            templates = itertools.cycle(
                Template(target, f"{path}/{name}{query}", make(name), method="PATCH", content_type=content_type)
                for name in (f"{prefix}-{n}" for n in range(_PATCHED))
            )
            return lambda: rate(target, lambda: next(templates).request(numbers.next()), seconds)

        crontasks = f"/apis/{_GROUP}/v1{NAMESPACE.removeprefix('/api/v1')}/crontasks"
        measures = {
            "POST Pod, alike": creates(f"{NAMESPACE}/pods", pod),
            "POST Pod, distinct specs": creates(f"{NAMESPACE}/pods", distinct_pod),
            "POST CustomResource, CEL": creates(crontasks, cron_task),
            "merge patch, ConfigMap": changes("c", lambda _: _changed_data, "application/merge-patch+json"),
            "strategic patch, Deployment": changes(
                "d", lambda _: _changed_image, "application/strategic-merge-patch+json"
            ),
            "apply, changed Deployment": changes("d", _changed_deployment, APPLY, "?fieldManager=bench&force=true"),
        }
        with bare_server(server.directory / "data" / "pki", small_bytes=900, large_bytes=900) as bare:
            request = bare.request("POST", "/small", distinct_pod("1000000"))
            results = in_turns({**measures, "bare": lambda: rate(bare, lambda: request, seconds)}, rounds)
    for name in measures:
        mine = results[name]
        text = f"{median_rate(mine):8.0f}/s  {ratio(mine, results['bare']):6.1%} of bare"
        text += f"  {median_loop_micros(mine):5.0f} µs of the loop"
        if name != "POST Pod, distinct specs":
            report.line(name, text)
            continue
        share = ratio(mine, results["POST Pod, alike"])
        cost = loop_ratio(mine, results["POST Pod, alike"])
        report.line(name, f"{text} ({cost:.2f} × alike)  {share:6.1%} of alike (≥ 70 %)", is_met=share >= _DISTINCT_MIN)
