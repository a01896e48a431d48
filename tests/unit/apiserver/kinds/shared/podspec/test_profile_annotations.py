"""AppArmor and seccomp profiles in annotations."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.profile_annotations import (
    apply_app_armor_annotations,
    has_profiles,
    validate_profile_annotations,
    validate_profiles_match,
)

ARMOR = "container.apparmor.security.beta.kubernetes.io/c"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_C = "container.seccomp.security.alpha.kubernetes.io/c"
SPEC = Path("spec")
NOTES = Path("metadata", "annotations")


def pod(annotations: dict, spec: dict | None = None, **container: object) -> dict:
    return {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [{"name": "c", **container}], **(spec or {})},
    }


@pytest.mark.parametrize(("name", "has"), [(ARMOR, True), (SECCOMP_POD, True), (SECCOMP_C, True), ("other", False)])
def test_has_profiles_recognizes_three_annotations(name: str, has: bool):
    assert has_profiles({name: "x"}) is has


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("unconfined", {"type": "Unconfined"}),
        ("localhost/mine", {"type": "Localhost", "localhostProfile": "mine"}),
    ],
)
def test_apply_app_armor_annotations_sets_fields(text: str, profile: dict):
    obj = pod({ARMOR: text})
    warnings = list(apply_app_armor_annotations(obj))
    assert obj["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": profile}
    assert warnings == [
        f'metadata.annotations[{ARMOR}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]


@pytest.mark.parametrize(
    "obj",
    [
        pod({ARMOR: "unconfined"}, securityContext={"appArmorProfile": {"type": "RuntimeDefault"}}),
        pod({ARMOR: "unconfined"}, {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}),
        pod({ARMOR: "unconfined"}, {"os": {"name": "windows"}}),
        pod({"other": "unconfined"}),
    ],
    ids=["the field is set", "the pod says the same", "windows", "no such annotation"],
)
def test_apply_app_armor_annotations_changes_nothing_when_not_applicable(obj: dict):
    before = repr(obj)
    assert list(apply_app_armor_annotations(obj)) == []
    assert repr(obj) == before


@pytest.mark.parametrize(
    ("annotations", "faults"),
    [
        ({ARMOR: "runtime/default"}, []),
        ({SECCOMP_POD: "docker/default"}, []),
        ({SECCOMP_C: "localhost/a/b.json"}, []),
        (
            {"container.apparmor.security.beta.kubernetes.io/x": "unconfined"},
            [
                (
                    "metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: "
                    'Invalid value: "x": container not found'
                )
            ],
        ),
        (
            {ARMOR: "bad"},
            [f'metadata.annotations[{ARMOR}]: Invalid value: "bad": invalid AppArmor profile name: "bad"'],
        ),
        (
            {SECCOMP_POD: "bad"},
            [f'metadata.annotations.{SECCOMP_POD}: Invalid value: "bad": must be a valid seccomp profile'],
        ),
        (
            {SECCOMP_C: "localhost/../up"},
            [f"metadata.annotations.{SECCOMP_C}: Invalid value: \"../up\": must not contain '..'"],
        ),
    ],
)
def test_validate_profile_annotations_requires_existing_container_and_valid_profile(
    annotations: dict, faults: list[str]
):
    assert error_texts(validate_profile_annotations(annotations, pod(annotations)["spec"], NOTES)) == faults


@pytest.mark.parametrize(
    ("text", "profile", "faults"),
    [
        ("runtime/default", {"type": "RuntimeDefault"}, []),
        ("localhost/a", {"type": "Localhost", "localhostProfile": "a"}, []),
        ("unconfined", {"type": "RuntimeDefault"}, ["type: Forbidden: {} type in annotation and field must match"]),
        (
            "unconfined",
            {"type": "Localhost", "localhostProfile": "a"},
            ["type: Forbidden: {} type in annotation and field must match"],
        ),
        (
            "localhost/b",
            {"type": "Localhost", "localhostProfile": "a"},
            ["localhostProfile: Forbidden: {} profile in annotation and field must match"],
        ),
    ],
)
@pytest.mark.parametrize(
    ("annotation", "name", "profile_type"),
    [(ARMOR, "appArmorProfile", "apparmor"), (SECCOMP_C, "seccompProfile", "seccomp")],
)
def test_validate_profiles_match_requires_equal_container_profiles(
    annotation, name, profile_type, text, profile, faults
):
    obj = pod({annotation: text}, securityContext={name: profile})
    errors = error_texts(validate_profiles_match(obj["metadata"]["annotations"], obj["spec"], SPEC))
    assert errors == [f"spec.containers[0].securityContext.{name}.{fault.format(profile_type)}" for fault in faults]


def test_validate_profiles_match_requires_equal_pod_profiles():
    obj = pod({SECCOMP_POD: "unconfined"}, {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}})
    assert error_texts(validate_profiles_match(obj["metadata"]["annotations"], obj["spec"], SPEC)) == [
        "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"
    ]
