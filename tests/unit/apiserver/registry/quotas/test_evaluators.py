from __future__ import annotations

import pytest

from steersman.apiserver.registry.quotas.claims import DeviceClaimEvaluator, VolumeClaimEvaluator
from steersman.apiserver.registry.quotas.evaluator import Evaluator
from steersman.apiserver.registry.quotas.evaluators import evaluator_for
from steersman.apiserver.registry.quotas.pods import PodEvaluator
from steersman.apiserver.registry.quotas.services import ServiceEvaluator


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
def test_kinds_have_their_evaluators(resource, kind):
    assert type(evaluator_for(resource)) is kind
    assert evaluator_for(resource) is evaluator_for(resource)
