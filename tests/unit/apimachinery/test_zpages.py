"""``/statusz`` and ``/flagz``: negotiation and contents."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.zpages import JSON, TEXT, YAML, Build, Format, flagz, negotiate_page, statusz

STATUSZ = ";g=config.k8s.io;v=v1beta1;as=Statusz"
STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Format(TEXT)),
        ("*/*", Format(TEXT)),
        ("text/*", Format(TEXT)),
        ("text/plain", Format(TEXT)),
        ("application/json, */*;q=0.1", Format(TEXT)),
        (f"{JSON}{STATUSZ}", Format(JSON, "v1beta1")),
        (f"{YAML}{STATUSZ}", Format(YAML, "v1beta1")),
        (f"{JSON};as=Statusz;v=v1alpha1;g=config.k8s.io", Format(JSON, "v1alpha1")),
        (f"text/plain;q=0.5,{JSON}{STATUSZ}", Format(JSON, "v1beta1")),
        (f"{JSON}{STATUSZ};q=0.5,text/plain", Format(TEXT)),
    ],
)
def test_page_has_the_form_that_the_client_prefers(accept: str, form: Format) -> None:
    assert negotiate_page(accept, "Statusz") == form


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/json;g=config.k8s.io;v=v2;as=Statusz",
        "application/json;g=config.k8s.io;v=v1beta1;as=Flagz",
        f"application/vnd.kubernetes.protobuf{STATUSZ}",
        f"text/plain{STATUSZ}",
        "text/html",
    ],
)
def test_other_forms_are_not_acceptable(accept: str) -> None:
    with pytest.raises(StatusError) as refused:
        negotiate_page(accept, "Statusz")
    assert refused.value.code == 406
    assert str(refused.value) == (
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf, text/plain"
    )


def test_statusz_lists_the_first_segments_of_paths_for_debugging() -> None:
    paths = ["/", "/api", "/apis/apps", "/healthz/ping", "/healthz", "/metrics", "/openapi/v3", "/.well-known/x"]
    page = statusz("c", paths, Build("CPython 3", "1.36.0", "1.36"), started=STARTED, now=STARTED + timedelta(hours=25))
    assert page.text.splitlines()[-6:] == [
        "Started: Fri Jan  2 03:04:05 UTC 2026",
        "Up: 25 hr 00 min 00 sec",
        "Python version: CPython 3",
        "Binary version: 1.36.0",
        "Emulation version: 1.36",
        "Paths: /healthz /metrics",
    ]
    assert json.loads(page.encode(Format(JSON, "v1beta1"))) == {
        "kind": "Statusz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "c"},
        "startTime": "2026-01-02T03:04:05Z",
        "uptimeSeconds": 90000,
        "goVersion": "CPython 3",
        "binaryVersion": "1.36.0",
        "emulationVersion": "1.36",
        "paths": ["/healthz", "/metrics"],
    }


def test_flagz_sorts_flags() -> None:
    page = flagz("c", {"v": "2", "bind-address": "::1"})
    assert page.text.startswith("\nc flagz\nWarning: ")
    assert page.text.endswith("\n\nbind-address=::1\nv=2\n")
    text = page.encode(Format(YAML, "v1alpha1")).decode()
    assert "kind: Flagz" in text
    assert "bind-address:" in text
