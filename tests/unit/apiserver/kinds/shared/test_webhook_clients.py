"""Validation of webhook client configurations."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.webhook_clients import validate_client

P = Path("c")
SERVICE = {"name": "s", "namespace": "n", "port": 443}


def faults(**config: object) -> list[str]:
    return error_texts(validate_client(config, P))


@pytest.mark.parametrize(
    "config",
    [
        {"url": "https://example.com"},
        {"url": "https://example.com:8443/hook"},
        {"service": SERVICE},
        {"service": {**SERVICE, "path": "/"}},
        {"service": {**SERVICE, "path": "/a/b.c/"}},
    ],
)
def test_validate_client_accepts_url_or_service(config: dict):
    assert faults(**config) == []


@pytest.mark.parametrize("config", [{}, {"url": "https://a", "service": SERVICE}])
def test_validate_client_requires_exactly_one(config: dict):
    assert faults(**config) == ["c: Required value: exactly one of url or service is required"]


FORM = "; desired format: https://host[/path]"


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://a", f"c.url: Invalid value: \"http\": 'https' is the only allowed URL scheme{FORM}"),
        ("https:///a", f'c.url: Invalid value: "": host must be specified{FORM}'),
        ("https://u@a", 'c.url: Invalid value: "u": user information is not permitted in the URL'),
        ("https://a#f", 'c.url: Invalid value: "f": fragments are not permitted in the URL'),
        ("https://a?q=1", 'c.url: Invalid value: "q=1": query parameters are not permitted in the URL'),
    ],
)
def test_validate_client_requires_plain_https_urls(url: str, fault: str):
    assert faults(url=url) == [fault]


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"name": ""}, "c.service.name: Required value: service name is required"),
        ({"namespace": ""}, "c.service.namespace: Required value: service namespace is required"),
        (
            {"port": 0},
            "c.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
        ),
        ({"path": "a"}, "c.service.path: Invalid value: \"a\": must start with a '/'"),
        ({"path": "/a//b"}, 'c.service.path: Invalid value: "/a//b": segment[1] may not be empty'),
    ],
)
def test_validate_client_requires_service_name_namespace_and_port(part: dict, fault: str):
    (first, *_) = faults(service={**SERVICE, **part})
    assert first == fault


def test_validate_client_requires_dns_subdomains_in_service_path():
    (fault,) = faults(service={**SERVICE, "path": "/A_"})
    assert fault.startswith('c.service.path: Invalid value: "/A_": segment[0]: a lowercase RFC 1123 subdomain')
