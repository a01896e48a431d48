"""Which evaluator counts which kind."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from steersman.apiserver.registry.quotas.claims import DeviceClaimEvaluator, VolumeClaimEvaluator
from steersman.apiserver.registry.quotas.evaluator import Evaluator
from steersman.apiserver.registry.quotas.pods import PodEvaluator
from steersman.apiserver.registry.quotas.services import ServiceEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SPECIAL: Final[Mapping[str, Callable[[], Evaluator]]] = {
    "pods": PodEvaluator,
    "services": ServiceEvaluator,
    "persistentvolumeclaims": VolumeClaimEvaluator,
    "resourceclaims.resource.k8s.io": DeviceClaimEvaluator,
}


@cache
def evaluator_for(group_resource: str) -> Evaluator:
    """The evaluator of a resource, for example ``pods`` or ``deployments.apps``."""
    special = _SPECIAL.get(group_resource)
    return Evaluator(group_resource) if special is None else special()
