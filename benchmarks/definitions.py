"""CustomResourceDefinitions: the rate of creates under a large schema, and what 500 definitions cost.

Creates of ConfigMaps are measured in turns with those of custom resources, in one server. Discovery, memory and start
with 500 definitions are compared with those of a server without any.
"""

from __future__ import annotations

import http.client
import itertools
import json
import ssl
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.client import Template
from benchmarks.rates import NAMESPACE, config_map, in_turns, loop_ratio, median_loop_micros, median_rate, rate, ratio
from benchmarks.servers import api_server
from benchmarks.users import call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.client import Target
    from benchmarks.rates import Report
    from benchmarks.servers import Server

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GROUP = "bench.example.com"
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

#: Targets of custom resources: share of the rate of ConfigMaps.
_CUSTOM_MIN = 0.40
#: Targets of 500 definitions.
_COUNT, _GROUPS = 500, 25
_DISCOVERY_MAX_MS, _MEMORY_MAX_MB, _START_MAX_SECONDS = 50.0, 60.0, 1.0

_SECTIONS = 20
_DESCRIPTION = "Describes one aspect of the desired state in a sentence as long as those of real definitions."
_RULES = [
    {"rule": "self.minReplicas <= self.replicas", "message": "replicas are below the minimum"},
    {"rule": "!has(self.section0.name) || self.section0.name.startsWith(self.prefix)"},
    {"rule": "self.ports.all(port, port.number > 0 && port.number < 65536)"},
    {"rule": "self.mode == 'Fixed' || self.section1.count < 1000", "messageExpression": "'too many: ' + self.mode"},
]
_TOP_RULES = [{"rule": "size(self.metadata.name) < 64"}]


def _section() -> dict[str, Any]:
    """Return a schema of an object of nine fields."""
    properties: dict[str, Any] = {
        "name": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
        "enabled": {"type": "boolean", "default": True},
        "count": {"type": "integer", "minimum": 0, "default": 1},
        "ratio": {"type": "number", "maximum": 1},
        "policy": {"type": "string", "enum": ["Always", "Never", "IfNotPresent"], "default": "Always"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "values": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
        "port": {"x-kubernetes-int-or-string": True},
        "since": {"type": "string", "format": "date-time"},
    }
    for field in properties.values():
        field["description"] = _DESCRIPTION
    return {"type": "object", "required": ["name"], "properties": properties}


def large_schema() -> dict[str, Any]:
    """Return a schema of 207 fields with defaults, and five CEL rules; 34 kB of JSON."""
    port = {"name": {"type": "string", "maxLength": 15}, "number": {"type": "integer"}}
    properties = {
        "replicas": {"type": "integer", "minimum": 0, "maximum": 10_000_000},
        "minReplicas": {"type": "integer", "minimum": 0, "default": 1},
        "prefix": {"type": "string", "maxLength": 32, "default": "w-"},
        "mode": {"type": "string", "enum": ["Fixed", "Auto"], "maxLength": 8, "default": "Auto"},
        "ports": {
            "type": "array",
            "maxItems": 16,
            "items": {"type": "object", "required": ["name", "number"], "properties": port},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        **{f"section{number}": _section() for number in range(_SECTIONS)},
    }
    spec = {"type": "object", "required": ["replicas"], "properties": properties, "x-kubernetes-validations": _RULES}
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    properties = {"spec": spec, "status": status}
    return {"type": "object", "required": ["spec"], "properties": properties, "x-kubernetes-validations": _TOP_RULES}


def large_definition(kind: str = "Widget", group: str = _GROUP) -> dict[str, Any]:
    """Return a definition of namespaced resources with the large schema."""
    plural = f"{kind.lower()}s"
    version = {
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": large_schema()},
    }  # fmt: skip
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def widget(number: str) -> bytes:
    """Return an object with 25 fields of the large schema, most of which differ between objects."""
    sections = {
        f"section{n}": {
            "name": f"w-{number}", "count": n, "ratio": 0.5, "labels": {"app": f"app-{number}"},
            "values": [f"value-{number}"], "port": 80,
        }
        for n in range(3)
    }  # fmt: skip
    ports = [{"name": f"p{n}", "number": 8000 + n} for n in range(2)]
    spec = {"replicas": 3, "ports": ports, **sections}
    metadata = {"name": f"widget-{number}", "labels": {"app": "bench"}}
    return json.dumps({"apiVersion": f"{_GROUP}/v1", "kind": "Widget", "metadata": metadata, "spec": spec}).encode()


def establish(target: Target, definitions: Iterable[dict[str, Any]]) -> None:
    """Create definitions and wait until all are established."""
    names = set()
    for definition in definitions:
        call(target, "POST", DEFINITIONS, definition)
        names.add(definition["metadata"]["name"])
    deadline = time.perf_counter() + 120
    while names and time.perf_counter() < deadline:
        for stored in call(target, "GET", DEFINITIONS)["items"]:
            conditions = stored.get("status", {}).get("conditions") or ()
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                names.discard(stored["metadata"]["name"])
        time.sleep(0.05)
    if names:
        raise RuntimeError(f"definitions that were not established: {sorted(names)[:5]}")


def measure_custom(report: Report, seconds: float, rounds: int) -> None:
    """Compare creates of custom resources with creates of ConfigMaps."""
    numbers = itertools.count(1_000_000)
    with api_server() as server:
        target = server.target
        establish(target, [large_definition()])
        config_maps = Template(target, f"{NAMESPACE}/configmaps", config_map)
        widgets = Template(target, f"/apis/{_GROUP}/v1/namespaces/default/widgets", widget)
        measures = {
            "ConfigMap": lambda: rate(target, lambda: config_maps.request(b"%d" % next(numbers)), seconds),
            "custom": lambda: rate(target, lambda: widgets.request(b"%d" % next(numbers)), seconds),
        }
        results = in_turns(measures, rounds)
    mine, theirs = results["custom"], results["ConfigMap"]
    share = ratio(mine, theirs)
    text = f"{median_rate(mine):8.0f}/s  ConfigMap {median_rate(theirs):8.0f}/s  {share:6.1%} (≥ {_CUSTOM_MIN:.0%})"
    text += f"  {median_loop_micros(mine):.0f} µs of the loop ({loop_ratio(mine, theirs):.2f} ×)"
    report.line("POST custom resource, 200 fields", text, is_met=share >= _CUSTOM_MIN)


class _Measured:
    """Figures of one start of a server."""

    def __init__(self, server: Server) -> None:
        self.ready_seconds, self.ready_cpu_seconds = server.ready_seconds, server.cpu_seconds()
        self.first_ms, self.aggregated_ms = _discovery(server.target, "/apis", _AGGREGATED)
        _, self.legacy_ms = _discovery(server.target, "/apis", "application/json")
        self.rss_mb = server.rss_bytes / 1e6


def _discovery(target: Target, path: str, accept: str) -> tuple[float, float]:
    """Return the milliseconds of the first request and the median of twenty more."""
    connection = http.client.HTTPSConnection(target.host, target.port, context=ssl._create_unverified_context())
    headers = {"authorization": f"Bearer {target.token}", "accept": accept}
    times = []
    try:
        connection.connect()
        for _ in range(21):
            start = time.perf_counter()
            connection.request("GET", path, headers=headers)
            connection.getresponse().read()
            times.append((time.perf_counter() - start) * 1000)
    finally:
        connection.close()
    return times[0], statistics.median(times[1:])


def _wait_served(target: Target) -> None:
    deadline = time.perf_counter() + 60
    while len(call(target, "GET", "/apis")["groups"]) < _GROUPS or not _is_served(target):
        if time.perf_counter() > deadline:
            raise RuntimeError("not all definitions are served")
        time.sleep(0.01)


def _is_served(target: Target) -> bool:
    resources = 0
    for number in range(_GROUPS):
        try:
            resources += len(call(target, "GET", f"/apis/g{number}.example.com/v1")["resources"])
        except RuntimeError:
            return False
    return resources >= 2 * _COUNT  # each has a status


def measure_definitions(report: Report, rounds: int) -> None:
    """Measure servers that start with 500 stored definitions, and with none."""
    with (
        tempfile.TemporaryDirectory(prefix="steersman-bench-") as empty,
        tempfile.TemporaryDirectory(prefix="steersman-bench-") as filled,
    ):
        with api_server(directory=Path(empty)):
            pass  # creates certificates
        with api_server(directory=Path(filled)) as server:
            cpu, start = server.cpu_seconds(), time.perf_counter()
            kinds = [(f"Kind{n}", f"g{n % _GROUPS}.example.com") for n in range(_COUNT)]
            establish(server.target, (large_definition(kind, group) for kind, group in kinds))
            created_seconds, created_cpu = time.perf_counter() - start, server.cpu_seconds() - cpu
            created_mb = _Measured(server).rss_mb
        without, with_all = [], []
        for _ in range(rounds):
            with api_server(directory=Path(empty)) as server:
                without.append(_Measured(server))
            with api_server(directory=Path(filled)) as server:
                _wait_served(server.target)
                with_all.append(_Measured(server))
    report.line(
        f"{_COUNT} definitions created",
        f"{created_seconds:.1f} s, {created_cpu:.1f} s of CPU; then {created_mb:.0f} MB",
    )
    _report_definitions(report, without, with_all)


def _report_definitions(report: Report, without: list[_Measured], with_all: list[_Measured]) -> None:
    def median(measured: list[_Measured], name: str) -> float:
        return statistics.median(getattr(sample, name) for sample in measured)

    for name, label in (("aggregated_ms", "aggregated"), ("legacy_ms", "legacy, /apis"), ("first_ms", "first request")):
        value = median(with_all, name)
        is_met = None if name == "first_ms" else value <= _DISCOVERY_MAX_MS  # the first one builds the document
        text = f"{value:8.1f} ms (≤ {_DISCOVERY_MAX_MS:.0f} ms); without definitions {median(without, name):.1f} ms"
        report.line(f"{_COUNT} definitions, discovery, {label}", text, is_met=is_met)
    more = median(with_all, "rss_mb") - median(without, "rss_mb")
    text = f"{more:8.0f} MB more (≤ {_MEMORY_MAX_MB:.0f} MB)"
    report.line(f"{_COUNT} definitions, memory", text, is_met=more <= _MEMORY_MAX_MB)
    ready = median(with_all, "ready_seconds")
    text = f"{ready:8.2f} s (≤ {_START_MAX_SECONDS:.0f} s), {median(with_all, 'ready_cpu_seconds'):.2f} s of CPU until all are served; "
    text += f"without definitions {median(without, 'ready_seconds'):.2f} s, {median(without, 'ready_cpu_seconds'):.2f} s of CPU"
    report.line(f"{_COUNT} definitions, start", text, is_met=ready <= _START_MAX_SECONDS)
