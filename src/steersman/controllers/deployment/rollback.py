"""Rollback by the annotation ``deprecated.deployment.rollback.to``, which is ``spec.rollbackTo`` of ``extensions/v1beta1``.

Upstream: pkg/controller/deployment/rollback.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from steersman.client.objects import annotations_of, name_of
from steersman.controllers.deployment.revisions import (
    DEPLOYMENT_ONLY,
    ROLLBACK_TO,
    find_new,
    revision_of,
    rollback_revision,
    same_template,
    template_of,
    without_hash,
)
from steersman.runtime.structs import with_metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightkube.models.apps_v1 import Deployment, ReplicaSet

_DONE: Final = "DeploymentRollback"
_NOT_FOUND: Final = "DeploymentRollbackRevisionNotFound"
_UNCHANGED: Final = "DeploymentRollbackTemplateUnchanged"


class Rollback(NamedTuple):
    """The Deployment without the request, with the template of the revision if it was found, and the event."""

    deployment: Deployment
    event_type: str
    reason: str
    message: str


def rollback(deployment: Deployment, owned: Sequence[ReplicaSet]) -> Rollback | None:
    """Return the requested rollback; None without a valid request, while it must wait, or for a paused Deployment.

    It waits for the ReplicaSet of the current template to have the highest revision.
    """
    spec: Any = deployment.spec
    revision = rollback_revision(deployment)
    if revision is None or spec.paused:
        return None
    new = find_new(owned, spec.template)
    revisions = sorted((revision_of(rs) for rs in owned), reverse=True)
    if new is None or revision_of(new) < revisions[0]:
        return None
    target_revision = revision or (revisions[1] if len(revisions) > 1 else 0)
    if not target_revision:
        return _gave_up(deployment, _NOT_FOUND, "Unable to find last revision.")
    target = next((rs for rs in owned if revision_of(rs) == target_revision), None)
    template = None if target is None else template_of(target)
    if target is None or template is None:
        return _gave_up(deployment, _NOT_FOUND, "Unable to find the revision to rollback to.")
    name = name_of(deployment)
    if same_template(template, spec.template):
        text = f'The rollback revision contains the same template as current deployment "{name}"'
        return _gave_up(deployment, _UNCHANGED, text)
    own_annotations = {key: value for key, value in annotations_of(deployment).items() if key in DEPLOYMENT_ONLY}
    restored_annotations = {key: value for key, value in annotations_of(target).items() if key not in DEPLOYMENT_ONLY}
    spec = msgspec.structs.replace(spec, template=without_hash(template))
    rolled_back = msgspec.structs.replace(
        with_metadata(deployment, annotations={**own_annotations, **restored_annotations}), spec=spec
    )
    message = f'Rolled back deployment "{name}" to revision {target_revision}'
    return Rollback(_without_request(rolled_back), "Normal", _DONE, message)


def _gave_up(deployment: Deployment, reason: str, message: str) -> Rollback:
    return Rollback(_without_request(deployment), "Warning", reason, message)


def _without_request(deployment: Deployment) -> Deployment:
    annotations = {key: value for key, value in annotations_of(deployment).items() if key != ROLLBACK_TO}
    return with_metadata(deployment, annotations=annotations or None)
