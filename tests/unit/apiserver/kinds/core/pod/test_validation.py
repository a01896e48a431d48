"""Validation of new Pods."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts, pod

from steersman.apiserver.kinds.core.pod.validation import validate_pod_create


def faults(metadata: dict | None = None, **spec: object) -> list[str]:
    return error_texts(validate_pod_create(pod(metadata, **spec)))


def test_validate_pod_create_accepts_valid_pod():
    assert faults() == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (
            {"ephemeralContainers": [{"name": "e", "image": "i"}]},
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ),
        (
            {"nodeName": "n", "schedulingGates": [{"name": "g"}]},
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
        (
            {"containers": [{"name": "c", "image": "i "}]},
            'spec.containers[0].image: Invalid value: "i ": must not have leading or trailing whitespace',
        ),
        (
            {"volumes": [{"name": "v", "image": {}}]},
            "spec.volumes[0].image.reference: Required value",
        ),
        (
            {"restartPolicy": "X"},
            'spec.restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"',
        ),
    ],
)
def test_validate_pod_create_reports_single_error(spec: dict, fault: str):
    assert faults(**spec) == [fault]


def test_validate_pod_create_derives_claim_names_from_pod_name():
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    (fault,) = faults({"name": "a" * 253}, volumes=[volume])
    assert fault.startswith('spec.volumes[0].name: Invalid value: "v": PVC name "aaa')


def test_validate_pod_create_requires_matching_profile_annotations():
    name = "seccomp.security.alpha.kubernetes.io/pod"
    assert faults(
        {"annotations": {name: "unconfined"}}, securityContext={"seccompProfile": {"type": "RuntimeDefault"}}
    ) == ["spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"]


def test_validate_pod_create_checks_annotations_when_spec_is_known_to_be_valid():
    assert faults() == faults({"annotations": {"a": "b"}}) == []
    (fault,) = faults({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "x"}})
    assert fault.endswith('Invalid value: "x": must be a 32bit integer')


def test_validate_pod_create_reports_annotations_then_gates_then_profiles():
    annotations = {
        "container.apparmor.security.beta.kubernetes.io/c": "runtime/default",
        "container.apparmor.security.beta.kubernetes.io/z": "unconfined",
        "controller.kubernetes.io/pod-deletion-cost": "x",
    }
    profile = {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}
    reported = faults(
        {"annotations": annotations},
        containers=[{"name": "c", "image": "i", **profile}],
        nodeName="n",
        schedulingGates=[{"name": "g"}],
    )
    assert [fault.partition(": ")[0] for fault in reported] == [
        "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]",
        "metadata.annotations[container.apparmor.security.beta.kubernetes.io/z]",
        "spec.nodeName",
        "spec.containers[0].securityContext.appArmorProfile.type",
    ]
