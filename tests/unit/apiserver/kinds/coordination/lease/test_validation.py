from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, named, texts

from steersman.apiserver.kinds.coordination.lease.validation import validate_lease, validate_lease_candidate

STRATEGY = "OldestEmulationVersion"
CANDIDATE = named(
    spec={"leaseName": "l", "binaryVersion": "1.36.0", "emulationVersion": "1.35.0", "strategy": STRATEGY}
)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"leaseDurationSeconds": 1, "leaseTransitions": 0},
        {"strategy": STRATEGY, "preferredHolder": "h"},
        {"strategy": "example.com/mine"},
    ],
)
def test_validate_lease_accepts_valid_leases(spec):
    assert texts(validate_lease(named(spec=spec))) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"),
        (
            {"leaseTransitions": -1},
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"preferredHolder": "h"},
            "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined",
        ),
    ],
)
def test_validate_lease_rejects_invalid_leases(spec, fault):
    assert texts(validate_lease(named(spec=spec))) == [fault]


def test_validate_lease_accepts_known_and_domain_qualified_strategies():
    [fault] = texts(validate_lease(named(spec={"strategy": "Youngest"})))
    assert fault.endswith(f': Unsupported value: "Youngest": supported values: "{STRATEGY}"')


@pytest.mark.parametrize("edits", [{}, {"spec.strategy": "example.com/mine", "spec.emulationVersion": ""}])
def test_validate_lease_candidate_accepts_valid_candidates(edits):
    assert texts(validate_lease_candidate(edited(CANDIDATE, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.leaseName": ""}, "spec.leaseName: Required value"),
        ({"spec.binaryVersion": ""}, "spec.binaryVersion: Required value"),
        ({"spec.strategy": ""}, "spec.strategy: Required value"),
        (
            {"spec.emulationVersion": ""},
            f"spec.emulationVersion: Required value: must be specified when `strategy` is '{STRATEGY}'",
        ),
        (
            {"spec.emulationVersion": "1.37.0"},
            'spec.binaryVersion: Invalid value: "1.36.0": must be greater than or equal to `emulationVersion`',
        ),
        (
            {"spec.binaryVersion": "1.35.0-rc.1"},
            'spec.binaryVersion: Invalid value: "1.35.0-rc.1": must be greater than or equal to `emulationVersion`',
        ),
        (
            {"spec.emulationVersion": "0.0.0"},
            f"spec.emulationVersion: Required value: must be specified when `strategy` is '{STRATEGY}'",
        ),
    ],
)
def test_validate_lease_candidate_rejects_invalid_candidates(edits, fault):
    assert texts(validate_lease_candidate(edited(CANDIDATE, edits))) == [fault]


@pytest.mark.parametrize(
    ("name", "text"), [("emulationVersion", "1.x.0"), ("binaryVersion", "1.36"), ("binaryVersion", "1.36.0-01")]
)
def test_invalid_versions_sort_lowest(name, text):
    first, second = texts(validate_lease_candidate(edited(CANDIDATE, {f"spec.{name}": text})))
    assert first == f'spec.{name}: Invalid value: "{text}": must be a valid semantic version'
    assert second.startswith(f"spec.{name}: ")


@pytest.mark.parametrize(("binary", "emulation"), [("1.36.0", "1.36.0-rc.1"), ("1.36.0-rc.10", "1.36.0-rc.9")])
def test_pre_releases_sort_before_their_release(binary, emulation):
    versions = {"spec.binaryVersion": binary, "spec.emulationVersion": emulation}
    assert texts(validate_lease_candidate(edited(CANDIDATE, versions))) == []


def test_versions_sort_numerically():
    assert texts(validate_lease_candidate(edited(CANDIDATE, {"spec.binaryVersion": "1.100.0"}))) == []
