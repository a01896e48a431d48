"""Pods to try rules on."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from lightkube.models.core_v1 import ContainerStatus, Pod, PodCondition, PodSpec, PodStatus
from lightkube.models.meta_v1 import ObjectMeta

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.fixture
def pod():
    numbers = itertools.count(1)

    def make(
        name="",
        *,
        node="n",
        phase="Running",
        ready_for=None,
        age=100.0,
        restarts=0,
        labels=None,
        annotations=None,
        deleted=False,
    ):
        name = name or f"p{next(numbers)}"
        conditions = (
            [] if ready_for is None else [PodCondition(type="Ready", status="True", lastTransitionTime=ago(ready_for))]
        )
        return Pod(
            metadata=ObjectMeta(
                name=name, namespace="ns", uid=f"uid-{name}", labels=labels or {}, annotations=annotations,
                creationTimestamp=ago(age), deletionTimestamp=NOW if deleted else None,
            ),
            spec=PodSpec(containers=[], nodeName=node or None),
            status=PodStatus(
                phase=phase,
                conditions=conditions,
                containerStatuses=[ContainerStatus(image="", imageID="", name="c", ready=True, restartCount=restarts)],
            ),
        )  # fmt: skip

    return make
