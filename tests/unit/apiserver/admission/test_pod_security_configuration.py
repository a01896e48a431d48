"""Decoding and validation of ``PodSecurityConfiguration``."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.apiserver.admission.pod_security_configuration import read_pod_security_configuration

HEAD = {"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration"}


def test_defaults_and_exemptions_are_read():
    defaults = {"enforce": "baseline", "enforce-version": "v1.30", "warn": None}
    exemptions = {"usernames": ["admin"], "runtimeClasses": ["r"], "namespaces": None}
    read, exempt = read_pod_security_configuration({**HEAD, "defaults": defaults, "exemptions": exemptions})
    assert {name: value for name, value in read.items() if value} == {"enforce": "baseline", "enforce-version": "v1.30"}
    assert {name: list(names) for name, names in exempt.items() if names} == {
        "usernames": ["admin"],
        "runtimeClasses": ["r"],
    }


@pytest.mark.parametrize(
    ("configuration", "fault"),
    [
        ({"defaults": "baseline"}, 'field "defaults" must be an object'),
        ({"defaults": {"enforceVersion": "v1.30"}}, 'unknown field "defaults.enforceVersion"'),
        ({"exemptions": {"usernames": "admin"}}, 'field "exemptions.usernames" must be a list'),
        ({"exemptions": {"usernames": ["a", ""]}}, r"exemptions.usernames\[1\]: Required value"),
        ({"exemptions": {"namespaces": ["a", "a"]}}, r'exemptions.namespaces\[1\]: Duplicate value: "a"'),
        ({"exemptions": {"runtimeClasses": ["A"]}}, r'exemptions.runtimeClasses\[0\]: Invalid value: "A"'),
        ({"kind": "Policy"}, 'no kind "Policy" is registered'),
        ({"apiVersion": "v1"}, 'is registered for version "v1"'),
    ],
)
def test_invalid_configuration_is_rejected(configuration: dict[str, Any], fault: str):
    with pytest.raises(ValueError, match=fault):
        read_pod_security_configuration({**HEAD, **configuration})
