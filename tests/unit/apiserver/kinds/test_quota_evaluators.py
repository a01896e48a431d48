from __future__ import annotations

import pytest

from steersman.apiserver.kinds.core.persistentvolumeclaim.quota import DeviceClaimEvaluator, VolumeClaimEvaluator
from steersman.apiserver.kinds.core.pod.quota import PodEvaluator
from steersman.apiserver.kinds.core.service.quota import ServiceEvaluator
from steersman.apiserver.kinds.quota_evaluators import evaluator_for
from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator


@pytest.mark.parametrize(
    ("resource", "kind"),
    [
        ("pods", PodEvaluator),
        ("services", ServiceEvaluator),
        ("persistentvolumeclaims", VolumeClaimEvaluator),
        ("resourceclaims.resource.k8s.io", DeviceClaimEvaluator),
        ("widgets.example.com", Evaluator),
    ],
)
def test_evaluator_for_kinds_with_own_evaluator(resource, kind):
    assert type(evaluator_for(resource)) is kind
    assert evaluator_for(resource) is evaluator_for(resource)
