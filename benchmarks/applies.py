"""A no-op apply, beside a GET of the same object and the decoding of the same body."""

from __future__ import annotations

import json
import statistics
import time
from typing import TYPE_CHECKING, Any

from benchmarks.rates import NAMESPACE, pod, rate
from steersman.apimachinery.codec import decode_json
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from benchmarks.rates import Report
    from benchmarks.servers import Server

APPLY = "application/apply-patch+yaml"
_DECODES = 2_000


def deployment(name: str) -> dict[str, Any]:
    spec = json.loads(pod(name))["spec"]
    labels = {"app": "bench", "tier": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def decode_seconds(body: bytes) -> float:
    """Return the time to decode a body into its type."""
    struct = struct_for("apps", "v1", "Deployment")
    start = time.perf_counter()
    for _ in range(_DECODES):
        decode(struct, decode_json(body))
    return (time.perf_counter() - start) / _DECODES


def measure_apply(report: Report, server: Server, seconds: float) -> None:
    path = f"/apis/apps/v1/{NAMESPACE.removeprefix('/api/v1/')}/deployments/applied"
    body = json.dumps(deployment("applied")).encode()
    apply = server.target.request("PATCH", f"{path}?fieldManager=bench", body, APPLY)
    get = server.target.request("GET", path)
    rate(server.target, lambda: apply, 0.2)  # the first one creates
    shares, applies, gets = [], [], []
    for _ in range(3):
        read, applied = rate(server.target, lambda: get, seconds).rate, rate(server.target, lambda: apply, seconds).rate
        shares.append(applied * (1 / read + decode_seconds(body)))
        applies.append(applied)
        gets.append(read)
    share = statistics.median(shares)
    text = f"{statistics.median(applies):8.0f}/s  GET {statistics.median(gets):.0f}/s  {share:6.1%} of GET + decoding (≥ 50 %)"
    report.line("apply, unchanged", text, is_met=share >= 0.5)
