"""Deletion order of surplus Pods."""

from __future__ import annotations

import msgspec
import pytest
from lightkube.models.core_v1 import Pod

from steersman.workloads.pod_order import least_loss_first


def pod(*, node="n", phase="Running", ready=None, restarts=0, created="2026-01-01T00:00:00Z"):
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": ready}] if ready else []
    container = {"name": "c", "image": "", "imageID": "", "ready": True, "restartCount": restarts}
    status = {"phase": phase, "conditions": conditions, "containerStatuses": [container]}
    spec = {"containers": [], "nodeName": node or None}
    return msgspec.convert({"metadata": {"creationTimestamp": created}, "spec": spec, "status": status}, Pod)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod(node=""), pod()),
        (pod(phase="Pending"), pod(phase="Unknown")),
        (pod(phase="Unknown"), pod()),
        (pod(), pod(ready="2026-01-01T00:00:00Z")),
        (pod(ready="2026-01-01T00:00:09Z"), pod(ready="2026-01-01T00:00:00Z")),
        (pod(restarts=3), pod(restarts=1)),
        (pod(created="2026-01-02T00:00:00Z"), pod()),
    ],
)
def test_least_loss_first_applies_the_rules_in_order(first, second):
    assert least_loss_first([second, first]) == [first, second]
