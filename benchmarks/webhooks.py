"""Cost of admission webhooks: one that validates each POST, and 20 configurations that match none.

Each case has an API server of its own, all measured in turns. The webhook runs on loopback in another process; its own
latency for the same review is measured beside, to show which part of the added time is the API server's.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.client import Template, percentile
from benchmarks.rates import NAMESPACE, config_map, in_turns, loop_ratio, median_loop_micros, median_rate, rate, ratio
from benchmarks.servers import api_server
from benchmarks.users import call
from benchmarks.webhook_server import webhook_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.client import Result, Target
    from benchmarks.rates import Report

_GROUP = "admissionregistration.k8s.io/v1"
_CONFIGURATIONS = f"/apis/{_GROUP}/validatingwebhookconfigurations"
#: Added latency of a POST, in milliseconds, and added cost of configurations that do not match.
_ADDED_MAX_MS = 1.5
_UNMATCHED_MAX = 0.03
_UNMATCHED = 20
_REVIEW = {
    "kind": "AdmissionReview",
    "apiVersion": "admission.k8s.io/v1",
    "request": {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "object": json.loads(config_map("review"))},
}


def configuration(name: str, url: str, ca: bytes, **more: Any) -> dict[str, Any]:
    """Return a configuration of one webhook for created ConfigMaps; ``more``: further fields of the webhook."""
    webhook = {
        "name": f"{name}.bench.example.com",
        "clientConfig": {"url": url, "caBundle": base64.b64encode(ca).decode()},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        **more,
    }
    return {
        "apiVersion": _GROUP,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }


def _unmatched(number: int) -> dict[str, Any]:
    """Return fields of a webhook that does not match: by rule, label of the object or of the namespace, in turns."""
    selector = {"matchLabels": {"webhook": f"required-{number}"}}
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["*"]}
    return ({"rules": [rule]}, {"objectSelector": selector}, {"namespaceSelector": selector})[number % 3]


def measure_webhooks(report: Report, seconds: float, rounds: int) -> None:
    with contextlib.ExitStack() as stack:
        plain, hooked, unmatched, conditional = (stack.enter_context(api_server()) for _ in range(4))
        pki = hooked.directory / "data" / "pki"
        webhook = stack.enter_context(webhook_server(pki))
        ca, url = Path(pki / "ca.crt").read_bytes(), f"https://127.0.0.1:{webhook.port}/validate"
        call(hooked.target, "POST", _CONFIGURATIONS, configuration("one", url, ca))
        for number in range(_UNMATCHED):
            fields = _unmatched(number)
            call(unmatched.target, "POST", _CONFIGURATIONS, configuration(f"n{number}", url, ca, **fields))
            condition = {"name": "other", "expression": f"request.userInfo.username == 'user-{number}'"}
            webhook_configuration = configuration(f"n{number}", url, ca, matchConditions=[condition])
            call(conditional.target, "POST", _CONFIGURATIONS, webhook_configuration)
        review = webhook.request("POST", "/validate", json.dumps(_REVIEW).encode())
        measures = {
            "plain": _posts(plain.target, seconds),
            "hooked": _posts(hooked.target, seconds),
            "unmatched": _posts(unmatched.target, seconds),
            "conditional": _posts(conditional.target, seconds),
            "webhook": lambda: rate(webhook, lambda: review, seconds),
        }
        results = in_turns(measures, rounds)
    _report_call(report, results)
    _report_unmatched(report, results)


def _posts(target: Target, seconds: float) -> Callable[[], Result]:
    template, numbers = Template(target, f"{NAMESPACE}/configmaps", config_map), itertools.count()
    return lambda: rate(target, lambda: template.request(b"w-%d" % next(numbers)), seconds)


def _median_latency(result: Result) -> float:
    return percentile(result.latencies, 0.5) * 1000


def _report_call(report: Report, results: dict[str, list[Result]]) -> None:
    plain, hooked, webhook = results["plain"], results["hooked"], results["webhook"]
    added = statistics.median(_median_latency(a) - _median_latency(b) for a, b in zip(hooked, plain, strict=True))
    p50s = [statistics.median(map(_median_latency, target_results)) for target_results in (plain, hooked, webhook)]
    cost = median_loop_micros(hooked) - median_loop_micros(plain)
    text = f"p50 {p50s[0]:.2f} → {p50s[1]:.2f} ms, added {added:.2f} ms (≤ {_ADDED_MAX_MS} ms)  {cost:.0f} µs of the loop added"
    report.line("POST with a validating webhook", text, is_met=added <= _ADDED_MAX_MS)
    text = f"p50 {p50s[2]:.2f} ms, {median_loop_micros(webhook):.0f} µs of its loop"
    report.line("the webhook alone, 16 clients", text)


def _report_unmatched(report: Report, results: dict[str, list[Result]]) -> None:
    plain = results["plain"]
    for name, matcher in (("unmatched", "no rule or selector"), ("conditional", "no match condition")):
        mine = results[name]
        slower, cost = 1 - ratio(mine, plain), loop_ratio(mine, plain) - 1
        text = f"{median_rate(mine):8.0f}/s, {slower:+.1%} slower; {median_loop_micros(mine):.1f} µs of the loop, {cost:+.1%}"
        if name == "unmatched":
            text += f" (≤ {_UNMATCHED_MAX:.0%})"
            report.line(f"{_UNMATCHED} webhooks, {matcher} matches", text, is_met=cost <= _UNMATCHED_MAX)
        else:
            report.line(f"{_UNMATCHED} webhooks, {matcher} matches", text)
