"""One step of a Deployment: ReplicaSets to create, scale or delete, and the status. Pure.

``plan`` follows the order of the rules: find the ReplicaSet of the current template; if the Deployment was resized,
scale proportionally; otherwise roll out a bounded step. Changes to ReplicaSets are collected in a ``_Draft``, so that
later rules of the step see them. Upstream: ``pkg/controller/deployment``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.models.apps_v1 import DeploymentStatus, ReplicaSet, ReplicaSetSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta

from steersman.client.objects import annotations_of, labels_of, name_of, namespace_of, uid_of
from steersman.controllers.deployment import revisions, rules, status
from steersman.controllers.deployment.hashing import set_name
from steersman.controllers.deployment.revisions import HASH_LABEL, REVISION
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.owners import controller_reference
from steersman.runtime.structs import replaced, with_metadata
from steersman.workloads.template_hash import template_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from lightkube.models.apps_v1 import Deployment
    from lightkube.models.core_v1 import PodTemplateSpec


@dataclass(frozen=True, slots=True)
class CreateSet:
    """Create the ReplicaSet of a new template."""

    rs: ReplicaSet
    #: Message of the event to record on success; empty for none.
    message: str = ""


@dataclass(frozen=True, slots=True)
class UpdateSet:
    """Update a ReplicaSet's replicas or annotations."""

    rs: ReplicaSet
    message: str = ""


@dataclass(frozen=True, slots=True)
class DeleteSet:
    """Delete an old ReplicaSet."""

    rs: ReplicaSet


Action = CreateSet | UpdateSet | DeleteSet


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions in order; then the Deployment's status is written if ``changed``."""

    actions: tuple[Action, ...]
    #: Deployment with the status to write.
    deployment: Deployment
    changed: bool
    #: Requeue after this time even without changes: the rollout may be stuck.
    requeue_after_seconds: float | None = None


def plan(deployment: Deployment, owned: Sequence[ReplicaSet], *, old_pods_run: OldPodsRun, now: datetime) -> Plan:
    """Return the next step. ``owned``: the Deployment's ReplicaSets; ``now`` in whole seconds, as in ``metav1.Time``."""
    draft = _Draft(deployment, owned, now)
    if is_being_deleted(deployment):
        draft.sync_revision()
        return draft.with_counts()
    draft.record_pausing()
    draft.sync_revision()
    paused = bool(deployment.spec and deployment.spec.paused)
    if paused or (draft.size_changed() and draft.can_scale()):
        _scale(draft)
        if paused and revisions.rollback_revision(deployment) is None:
            draft.forget_history()
        return draft.with_counts()
    if rules.strategy_of(deployment) == rules.RECREATE:
        _recreate(draft, old_pods_run)
    else:
        _roll(draft)
    if draft.new_is_unobserved:
        return draft.without_counts()
    if status.is_complete(deployment, draft.before):
        draft.forget_history()
    return draft.with_progress()


class OldPodsRun:
    """Predicate for running Pods of earlier templates; called when all old ReplicaSets are scaled down."""

    def __init__(self, owners_of_running: Iterable[str]) -> None:
        """``owners_of_running``: UIDs of the ReplicaSets with Pods that have not terminated."""
        self._owners = set(owners_of_running)

    def __call__(self, old: Iterable[ReplicaSet], new: ReplicaSet | None) -> bool:
        """Report whether old Pods run, from the ReplicaSets' statuses and their Pods."""
        if any(rs.status and rs.status.replicas for rs in old):
            return True
        return bool(self._owners - ({uid_of(new)} if new else set()))


@dataclass(slots=True)
class _Draft:
    """State of the step so far."""

    deployment: Deployment
    owned: Sequence[ReplicaSet]
    now: datetime
    new: ReplicaSet | None = None
    old: list[ReplicaSet] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    #: Stored status, with the conditions set by this step.
    before: DeploymentStatus = field(default_factory=DeploymentStatus)
    #: Revision annotation for the Deployment; empty for none.
    revision: str = ""

    def __post_init__(self) -> None:
        assert self.deployment.spec is not None
        self.before = self.deployment.status or DeploymentStatus()
        self.revision = revisions.revision_text(self.deployment)
        self.new = revisions.find_new(self.owned, self.deployment.spec.template)
        self.old = [rs for rs in self.owned if self.new is None or uid_of(rs) != uid_of(self.new)]

    @property
    def everyone(self) -> list[ReplicaSet]:
        return [*self.old, *([self.new] if self.new is not None else [])]

    def set_condition(self, condition: Any) -> None:
        self.before = status.with_deployment_condition(self.before, condition)

    # Revisions

    def record_pausing(self) -> None:
        """Set the Progressing condition on pause and resume, which restarts the progress deadline."""
        if status.deadline_seconds(self.deployment) is None:
            return
        progress = status.progress(self.before)
        if progress is not None and progress.reason == status.TIMED_OUT:
            return
        was_paused = progress is not None and progress.reason == status.PAUSED
        is_paused = bool(self.deployment.spec and self.deployment.spec.paused)
        if is_paused and not was_paused:
            self.set_condition(status.progressing("Unknown", status.PAUSED, "Deployment is paused", now=self.now))
        elif was_paused and not is_paused:
            self.set_condition(status.progressing("Unknown", status.RESUMED, "Deployment is resumed", now=self.now))

    def sync_revision(self) -> None:
        """Set the highest revision and the Deployment's annotations on the ReplicaSet of the current template."""
        if self.new is None:
            return
        assert self.deployment.spec is not None
        fresh = revisions.as_newest(self.new, annotations_of(self.deployment), self._next_revision())
        least = self.deployment.spec.minReadySeconds or None
        assert fresh.spec is not None
        if (fresh.spec.minReadySeconds or None) != least:
            fresh = replaced(fresh, spec=replaced(fresh.spec, minReadySeconds=least))
        if fresh is not self.new:
            self._update(fresh)
        self.revision = revisions.revision_text(fresh)
        if status.deadline_seconds(self.deployment) is not None and status.progress(self.before) is None:
            message = f'Found new replica set "{name_of(fresh)}"'
            self.set_condition(status.progressing("True", status.NEW_SET_FOUND, message, now=self.now))

    def _next_revision(self) -> int:
        return max(map(revisions.revision_of, self.old), default=0) + 1

    def create_new(self) -> ReplicaSet:
        """Return the ReplicaSet of the current template, created if absent."""
        if self.new is not None:
            return self.new
        replicas = rules.new_size(self.deployment, self.old, 0)
        rs = revisions.as_newest(
            new_set(self.deployment, replicas), annotations_of(self.deployment), self._next_revision()
        )
        rs = self._annotated(rs)
        name = name_of(rs)
        self.new = rs
        self.actions.append(CreateSet(rs, f"Scaled up replica set {name} from 0 to {replicas}" if replicas else ""))
        self.revision = revisions.revision_text(rs)
        if status.deadline_seconds(self.deployment) is not None:
            message = f'Created new replica set "{name}"'
            self.set_condition(status.progressing("True", status.NEW_SET_CREATED, message, now=self.now))
        return rs

    # Sizes

    def size_changed(self) -> bool:
        """Report whether an active ReplicaSet was last scaled for another size of the Deployment."""
        desired = [revisions.desired_annotation(rs) for rs in rules.active(self.everyone)]
        return any(size is not None and size != rules.desired_replicas(self.deployment) for size in desired)

    def can_scale(self) -> bool:
        """Report whether proportional scaling applies.

        A Recreate Deployment with several active sets first ends the old ones. (Upstream does nothing in that
        case, forever.)
        """
        rolls = rules.strategy_of(self.deployment) == rules.ROLLING_UPDATE
        return rolls or rules.active_or_latest(self.new, self.old) is not None

    def scale(self, rs: ReplicaSet, replicas: int) -> bool:
        """Set a ReplicaSet's size and its replica annotations; report whether the size changed."""
        before = rules.size(rs)
        scaled = self._annotated(rs if before == replicas else revisions.with_size(rs, replicas))
        if scaled is rs:
            return False
        if before == replicas:
            self._update(scaled)
            return False
        way = "up" if before < replicas else "down"
        self._update(scaled, f"Scaled {way} replica set {name_of(rs)} from {before} to {replicas}")
        return True

    def scale_all(self, sizes: Iterable[tuple[ReplicaSet, int]]) -> bool:
        """Scale several ReplicaSets; return whether any changed size. One that keeps its size is not written."""
        scaled = [self.scale(rs, replicas) for rs, replicas in sizes if rules.size(rs) != replicas]
        return any(scaled)

    def forget_history(self) -> None:
        """Delete old ReplicaSets beyond the limit."""
        self.actions.extend(map(DeleteSet, rules.expired_history(self.deployment, self.old)))

    def _annotated(self, rs: ReplicaSet) -> ReplicaSet:
        size = rules.desired_replicas(self.deployment)
        return revisions.with_replica_annotations(rs, desired=size, most=size + rules.max_surge(self.deployment))

    def _update(self, rs: ReplicaSet, message: str = "") -> None:
        """Write the ReplicaSet, merged with an earlier write of it in this step."""
        uid = uid_of(rs)
        earlier = [a for a in self.actions if isinstance(a, UpdateSet) and uid_of(a.rs) == uid and not a.message]
        self.actions = [action for action in self.actions if action not in earlier]
        self.actions.append(UpdateSet(rs, message))
        if self.new is not None and uid_of(self.new) == uid:
            self.new = rs
        self.old = [rs if uid_of(other) == uid else other for other in self.old]

    # The end

    @property
    def has_created(self) -> bool:
        """True if this step creates the new ReplicaSet."""
        return any(isinstance(action, CreateSet) for action in self.actions)

    @property
    def new_is_unobserved(self) -> bool:
        """True if the new ReplicaSet's status is not observed yet and the progress deadline has not passed."""
        if self.new is None or (self.new.status is not None and self.new.status.observedGeneration):
            return False
        return not status.has_timed_out(self.deployment, self.before, now=self.now)

    def without_counts(self) -> Plan:
        """Return the plan without status counts, as a new ReplicaSet has none yet."""
        return self._finish(self.before, watch=True)

    def with_counts(self) -> Plan:
        """Return the plan with the status counts."""
        return self._finish(
            status.count(self.deployment, self.before, self.everyone, self.new, now=self.now), watch=False
        )

    def with_progress(self) -> Plan:
        """Return the plan with counts, progress and failures in the status."""
        counted = status.count(self.deployment, self.before, self.everyone, self.new, now=self.now)
        counted = status.watch_progress(self.deployment, self.before, counted, self.new, now=self.now)
        return self._finish(status.take_over_failure(counted, self.everyone, self.new), watch=True)

    def _finish(self, new_status: DeploymentStatus, *, watch: bool) -> Plan:
        old_status = self.deployment.status or DeploymentStatus()
        annotations = annotations_of(self.deployment)
        if self.revision and annotations.get(REVISION) != self.revision:
            annotations = annotations | {REVISION: self.revision}
        changed = not same_status(old_status, new_status) or annotations is not annotations_of(self.deployment)
        deployment = with_metadata(replaced(self.deployment, status=new_status), annotations=annotations or None)
        seconds = status.seconds_to_deadline(self.deployment, new_status, now=self.now) if watch else None
        return Plan(tuple(self.actions), deployment, changed, seconds)


def _scale(draft: _Draft) -> None:
    """Scale proportionally after a resize, or while paused, without a rollout."""
    deployment = draft.deployment
    only = rules.active_or_latest(draft.new, draft.old)
    if only is not None:
        # Also if the size is right: an adopted ReplicaSet may have been scaled for another Deployment, which would look
        # like a resize forever (as upstream).
        if rules.size(only) != rules.desired_replicas(deployment) or revisions.desired_annotation(only) is not None:
            draft.scale(only, rules.desired_replicas(deployment))
    elif rules.is_saturated(deployment, draft.new):
        draft.scale_all((rs, 0) for rs in rules.active(draft.old))
    elif rules.strategy_of(deployment) == rules.ROLLING_UPDATE and (several := rules.active(draft.everyone)):
        for rs, replicas in rules.proportional_sizes(deployment, several):
            draft.scale(rs, replicas)


def _roll(draft: _Draft) -> None:
    """Scale up the new ReplicaSet within ``maxSurge``, else scale down old ones within ``maxUnavailable``."""
    deployment, new = draft.deployment, draft.create_new()
    size, most = rules.size(new), rules.desired_replicas(deployment)
    target = most if size > most else rules.new_size(deployment, draft.everyone, size)
    if not draft.has_created and draft.scale_all([(new, target)]):
        return
    old = rules.active(draft.old)
    most = rules.most_to_reduce(deployment, new, old)
    if not old or most <= 0:
        return
    draft.scale_all(rules.unhealthy_reductions(old, most))
    draft.scale_all(rules.rolling_reductions(deployment, new, rules.active(draft.old)))


def _recreate(draft: _Draft, old_pods_run: OldPodsRun) -> None:
    """Create new Pods only after all old ones have terminated."""
    if draft.scale_all((rs, 0) for rs in rules.active(draft.old)) or old_pods_run(draft.old, draft.new):
        return
    new = draft.create_new()
    if not draft.has_created:
        draft.scale_all([(new, rules.desired_replicas(draft.deployment))])


def new_set(deployment: Deployment, replicas: int) -> ReplicaSet:
    """Return a ReplicaSet of the current template; name and labels have the template's hash."""
    assert deployment.spec is not None
    template: PodTemplateSpec = deployment.spec.template
    hash_ = template_hash(template, (deployment.status.collisionCount if deployment.status else None))
    labels = labels_of(template) | {HASH_LABEL: hash_}
    selector = deployment.spec.selector
    owner = controller_reference(deployment, api_version="apps/v1", kind="Deployment")
    return ReplicaSet(
        apiVersion="apps/v1",
        kind="ReplicaSet",
        metadata=ObjectMeta(
            name=set_name(name_of(deployment), hash_),
            namespace=namespace_of(deployment),
            labels=labels,
            ownerReferences=[owner.typed()],
        ),
        spec=ReplicaSetSpec(
            replicas=replicas,
            minReadySeconds=deployment.spec.minReadySeconds,
            selector=LabelSelector(
                matchLabels=(selector.matchLabels or {}) | {HASH_LABEL: hash_},
                matchExpressions=selector.matchExpressions,
            ),
            template=with_metadata(template, labels=labels),
        ),
    )


def same_status(one: DeploymentStatus, other: DeploymentStatus) -> bool:
    """Report whether both are equal; a zero count equals an absent one, except ``terminatingReplicas``."""
    return _plain(one) == _plain(other)


def _plain(new: DeploymentStatus) -> dict[str, Any]:
    tree = msgspec.to_builtins(new)
    return {key: value for key, value in tree.items() if value or key == "terminatingReplicas"}
