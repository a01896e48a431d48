"""Deployments and ReplicaSets to try rules on."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from lightkube.models.apps_v1 import (
    Deployment,
    DeploymentSpec,
    DeploymentStatus,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
    RollingUpdateDeployment,
)
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta

from steersman.controllers.deployment.revisions import DESIRED_REPLICAS, MAX_REPLICAS, REVISION

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def template(version="1", **labels):
    container = Container(name="c", image="i")
    return PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "d", "v": version, **labels}), spec=PodSpec(containers=[container])
    )


@pytest.fixture
def deployment():
    def make(
        replicas=3, *, version="1", surge=1, unavailable=1, strategy="RollingUpdate", status=None, annotations=None,
        generation=1, deadline=600, history=10, paused=None, least=None, deleted=False,
    ):  # fmt: skip
        rolling = (
            RollingUpdateDeployment(maxSurge=surge, maxUnavailable=unavailable) if strategy == "RollingUpdate" else None
        )
        return Deployment(
            metadata=ObjectMeta(
                name="d", namespace="ns", uid="d-uid", generation=generation, annotations=annotations,
                deletionTimestamp=NOW if deleted else None,
            ),
            spec=DeploymentSpec(
                replicas=replicas,
                selector=LabelSelector(matchLabels={"app": "d"}),
                template=template(version),
                strategy=DeploymentStrategy(type=strategy, rollingUpdate=rolling),
                progressDeadlineSeconds=deadline,
                revisionHistoryLimit=history,
                paused=paused,
                minReadySeconds=least,
            ),
            status=status or DeploymentStatus(),
        )  # fmt: skip

    return make


@pytest.fixture
def rs():
    numbers = itertools.count(1)

    def make(
        replicas=3, *, version="1", revision=1, desired=3, most=4, available=None, ready=None, current=None, age=None,
        observed=1, terminating=0, annotations=None, conditions=None, name="",
    ):  # fmt: skip
        number = next(numbers)
        name = name or f"rs{number}"
        existing = {REVISION: revision, DESIRED_REPLICAS: desired, MAX_REPLICAS: most}
        available_replicas = replicas if available is None else available
        return ReplicaSet(
            metadata=ObjectMeta(
                name=name, namespace="ns", uid=f"{name}-uid", generation=1,
                creationTimestamp=NOW - timedelta(seconds=1000 - number if age is None else age),
                annotations={key: str(value) for key, value in existing.items() if value is not None} | (annotations or {}),
            ),
            spec=ReplicaSetSpec(
                selector=LabelSelector(matchLabels={"app": "d"}), replicas=replicas,
                template=template(version, **{"pod-template-hash": name}),
            ),
            status=ReplicaSetStatus(
                replicas=replicas if current is None else current, availableReplicas=available_replicas or None,
                readyReplicas=(available_replicas if ready is None else ready) or None, observedGeneration=observed or None,
                terminatingReplicas=terminating, conditions=conditions,
            ),
        )  # fmt: skip

    return make
