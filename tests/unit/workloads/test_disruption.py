import msgspec
from lightkube.models.core_v1 import Pod

from steersman.workloads.disruption import disruption_condition, disruption_patch

WHY = {"reason": "DeletionBySomebody", "message": "somebody: because"}


def pod(generation=2, **status):
    return msgspec.convert({"metadata": {"name": "p", "uid": "u", "generation": generation}, "status": status}, Pod)


def test_disruption_condition_has_the_generation_when_known():
    assert disruption_condition(pod(), **WHY, now="t")["observedGeneration"] == 2
    assert "observedGeneration" not in disruption_condition(pod(None), **WHY, now="t")


def test_disruption_patch_is_none_when_the_condition_exists():
    patch = disruption_patch(pod(), **WHY, now="t")
    condition = patch["status"]["conditions"][0]
    assert (condition["status"], condition["lastTransitionTime"]) == ("True", "t")
    assert patch["metadata"] == {"uid": "u"}
    stored = pod(conditions=[condition | {"lastTransitionTime": None}])
    assert disruption_patch(stored, **WHY, now="t") is None
    assert disruption_patch(stored, **WHY | {"reason": "DeletionByAnother"}, now="t") is not None
