"""Rollback by annotation."""

from __future__ import annotations

import pytest

from steersman.controllers.deployment.revisions import ROLLBACK_TO
from steersman.controllers.deployment.rollback import rollback


@pytest.fixture
def sets(rs):
    return [
        rs(version="1", revision=1, annotations={"cause": "create"}),
        rs(version="2", revision=2),
        rs(version="3", revision=3),
    ]


def requested(deployment, revision, **facts):
    annotations = {ROLLBACK_TO: revision, "cause": "edit", "deployment.kubernetes.io/revision": "3"}
    return deployment(version="3", annotations=annotations, **facts)


@pytest.mark.parametrize(("revision", "version"), [("1", "1"), ("2", "2"), ("0", "2")])
def test_rollback_takes_template_and_annotations_of_the_revision(deployment, sets, revision, version):
    result = rollback(requested(deployment, revision), sets)
    labels = result.deployment.spec.template.metadata.labels
    assert labels == {"app": "d", "v": version}
    annotations = result.deployment.metadata.annotations
    retained = {"deployment.kubernetes.io/revision": "3"}
    assert annotations == ({**retained, "cause": "create"} if version == "1" else retained)
    text = f'Rolled back deployment "d" to revision {version}'
    assert result[1:] == ("Normal", "DeploymentRollback", text)


@pytest.mark.parametrize(
    ("revision", "reason", "message"),
    [
        ("7", "DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to."),
        ("3", "DeploymentRollbackTemplateUnchanged", 'The rollback revision contains the same template as current deployment "d"'),
    ],
)  # fmt: skip
def test_rollback_that_is_not_possible_is_given_up(deployment, sets, revision, reason, message):
    result = rollback(requested(deployment, revision), sets)
    assert result[1:] == ("Warning", reason, message)
    assert result.deployment.spec.template.metadata.labels["v"] == "3"
    assert ROLLBACK_TO not in result.deployment.metadata.annotations


def test_rollback_without_an_earlier_revision_is_given_up(deployment, rs):
    result = rollback(requested(deployment, "0"), [rs(version="3", revision=1)])
    assert result[1:] == ("Warning", "DeploymentRollbackRevisionNotFound", "Unable to find last revision.")


@pytest.mark.parametrize("revision", ["", "x", "1.0"])
def test_malformed_request_is_ignored(deployment, sets, revision):
    assert rollback(requested(deployment, revision), sets) is None


def test_rollback_of_a_paused_deployment_waits(deployment, sets):
    assert rollback(requested(deployment, "1", paused=True), sets) is None


def test_rollback_waits_for_the_set_of_the_current_template(deployment, sets):
    assert rollback(requested(deployment, "1"), sets[:2]) is None
    assert rollback(deployment(version="1", annotations={ROLLBACK_TO: "2"}), sets) is None
