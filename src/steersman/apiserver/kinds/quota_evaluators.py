"""Quota evaluators by resource."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from steersman.apiserver.kinds.core.persistentvolumeclaim.quota import DeviceClaimEvaluator, VolumeClaimEvaluator
from steersman.apiserver.kinds.core.pod.quota import PodEvaluator
from steersman.apiserver.kinds.core.service.quota import ServiceEvaluator
from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SPECIAL: Final[Mapping[str, Callable[[], Evaluator]]] = {
    "pods": PodEvaluator,
    "services": ServiceEvaluator,
    "persistentvolumeclaims": VolumeClaimEvaluator,
    "resourceclaims.resource.k8s.io": DeviceClaimEvaluator,
}
#: Custom resources come and go.
_EVALUATORS_MAX: Final = 1024


@lru_cache(maxsize=_EVALUATORS_MAX)
def evaluator_for(group_resource: str) -> Evaluator:
    """Return the quota evaluator of a resource, for example ``pods`` or ``deployments.apps``."""
    special = _SPECIAL.get(group_resource)
    return Evaluator(group_resource) if special is None else special()
