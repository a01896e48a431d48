"""Validation of probes and lifecycle hooks."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import container, error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.validate_probes import validate_lifecycle, validate_probes

C = Path("c")
EXEC = {"exec": {"command": ["x"]}}


def faults(**parts: object) -> list[str]:
    return error_texts(validate_probes(container(**parts), C, 30))


def hook_faults(**handler: object) -> list[str]:
    whole = container(lifecycle={"preStop": handler})
    return error_texts(validate_lifecycle(whole["lifecycle"], C, 30))


@pytest.mark.parametrize(
    "handler",
    [
        EXEC,
        {"httpGet": {"port": 80}},
        {"httpGet": {"port": "http"}},
        {"tcpSocket": {"port": 80}},
        {"grpc": {"port": 80}},
    ],
)
@pytest.mark.parametrize("name", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_validate_probes_accepts_four_handlers(name: str, handler: dict):
    assert faults(**{name: handler}) == []


@pytest.mark.parametrize(
    ("probe", "fault"),
    [
        ({}, "c.livenessProbe: Required value: must specify a handler type"),
        ({"exec": {}}, "c.livenessProbe.exec.command: Required value"),
        (
            {**EXEC, "tcpSocket": {"port": 1}},
            "c.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
        ),
        ({**EXEC, "successThreshold": 2}, "c.livenessProbe.successThreshold: Invalid value: 2: must be 1"),
        (
            {**EXEC, "initialDelaySeconds": -1},
            "c.livenessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {**EXEC, "terminationGracePeriodSeconds": 0},
            "c.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            {"tcpSocket": {"port": 0}},
            "c.livenessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            {"grpc": {"port": 0}},
            "c.livenessProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            {"httpGet": {"port": 80, "scheme": "FTP"}},
            'c.livenessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
        ),
        ({"sleep": {"seconds": 1}}, "c.livenessProbe: Required value: must specify a handler type"),
    ],
)
def test_validate_probes_reports_single_error(probe: dict, fault: str):
    assert faults(livenessProbe=probe) == [fault]


def test_validate_probes_checks_header_names():
    (fault,) = faults(livenessProbe={"httpGet": {"port": 80, "httpHeaders": [{"name": "a b", "value": "v"}]}})
    assert fault.startswith('c.livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must')


def test_validate_probes_accepts_success_threshold_of_readiness():
    assert faults(readinessProbe={**EXEC, "successThreshold": 2}) == []


def test_validate_probes_rejects_grace_period_of_readiness():
    assert faults(readinessProbe={**EXEC, "terminationGracePeriodSeconds": 5}) == [
        "c.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes"
    ]


@pytest.mark.parametrize(
    "handler", [EXEC, {"sleep": {"seconds": 30}}, {"sleep": {"seconds": 0}}, {"httpGet": {"port": 1}}]
)
def test_validate_lifecycle_accepts_sleep(handler: dict):
    assert hook_faults(**handler) == []


@pytest.mark.parametrize("seconds", [-1, 31])
def test_validate_lifecycle_rejects_sleep_beyond_grace_period(seconds: int):
    assert hook_faults(sleep={"seconds": seconds}) == [
        (
            f"c.preStop.sleep: Invalid value: {seconds}: "
            "must be non-negative and less than terminationGracePeriodSeconds (30)"
        )
    ]


def test_validate_lifecycle_rejects_grpc():
    assert hook_faults(grpc={"port": 80}) == ["c.preStop: Required value: must specify a handler type"]
