"""What is refused of new pods."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import pod, told

from steersman.apiserver.kinds.core.pod.validation import validate_pod_create


def faults(metadata: dict | None = None, **spec: object) -> list[str]:
    return told(validate_pod_create(pod(metadata, **spec)))


def test_a_usual_pod_is_let_through():
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
def test_one_thing_wrong_is_told_once(spec: dict, fault: str):
    assert faults(**spec) == [fault]


def test_claims_that_are_made_for_a_pod_are_named_after_it():
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    (fault,) = faults({"name": "a" * 253}, volumes=[volume])
    assert fault.startswith('spec.volumes[0].name: Invalid value: "v": PVC name "aaa')


def test_annotations_of_profiles_match_the_fields():
    name = "seccomp.security.alpha.kubernetes.io/pod"
    assert faults(
        {"annotations": {name: "unconfined"}}, securityContext={"seccompProfile": {"type": "RuntimeDefault"}}
    ) == ["spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"]


def test_annotations_are_looked_at_though_a_spec_like_it_was_let_through():
    assert faults() == faults({"annotations": {"a": "b"}}) == []
    (fault,) = faults({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "x"}})
    assert fault.endswith('Invalid value: "x": must be a 32bit integer')
