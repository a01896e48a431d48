"""Deployment controller: watches, claims ReplicaSets, executes the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from lightkube.models.apps_v1 import Deployment, DeploymentStatus, ReplicaSet
from lightkube.models.core_v1 import Pod

from steersman.apimachinery.errors import is_namespace_terminating
from steersman.apimachinery.selectors import from_label_selector
from steersman.client.changes import Deleted, Updated
from steersman.client.errors import AlreadyExists
from steersman.client.objects import labels_of, name_of, namespace_of, uid_of
from steersman.controllers.deployment import rules, status
from steersman.controllers.deployment.plan import CreateSet, DeleteSet, OldPodsRun, Plan, UpdateSet, plan
from steersman.controllers.deployment.revisions import same_template, template_of
from steersman.controllers.deployment.rollback import rollback
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.dependents import candidates, controlled_by, index_dependents
from steersman.runtime.owners import controller_of, is_controlled_by
from steersman.runtime.references import ReferenceManager
from steersman.runtime.result import Result
from steersman.runtime.structs import replaced
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.apps_v1 import DeploymentCondition

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext
    from steersman.runtime.owners import Owner

SCALING: Final = "ScalingReplicaSet"


class DeploymentController(ManagedController):
    """``deployment-controller``."""

    name = "deployment-controller"
    queue_name = "deployment"
    #: As upstream's ``maxRetries``.
    retries_max = 15

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_deployment_syncs)
        self.deployments: Final = self.watch(Deployment)
        self.sets: Final = self.watch(ReplicaSet, keys=self._deployments_of)
        self.pods: Final = self.informer(Pod)
        index_dependents(self.sets)
        index_dependents(self.pods)
        self.pods.add_callback(self._pod_changed)

    # Event handlers

    def _deployments_of(self, rs: ReplicaSet) -> Iterable[str]:
        """Return the key of the controlling Deployment, or of those that may adopt the ReplicaSet."""
        namespace = namespace_of(rs)
        owner = controller_of(rs)
        if owner is not None:
            deployment = self._resolve(namespace, owner)
            return () if deployment is None else (f"{namespace}/{owner.name}",)
        return [
            f"{namespace}/{name_of(deployment)}"
            for deployment in self.deployments.lister.list(namespace=namespace)
            if _selector(deployment).matches(labels_of(rs))
        ]

    def _resolve(self, namespace: str, owner: Owner) -> Deployment | None:
        if owner.kind != "Deployment":
            return None
        deployment = self.deployments.lister.get(owner.name, namespace=namespace)
        return deployment if deployment is not None and uid_of(deployment) == owner.uid else None

    def _pod_changed(self, change: Change[Pod]) -> None:
        """Enqueue a Recreate Deployment whose Pod was deleted, which the status of ReplicaSets scaled to 0 does not reflect."""
        match change:
            case Deleted(old=pod):
                self._pod_ended(pod)
            case Updated(old=old, new=pod) if is_finished(pod) and not is_finished(old):
                self._pod_ended(pod)

    def _pod_ended(self, pod: Pod) -> None:
        owner = controller_of(pod)
        if owner is None or owner.kind != "ReplicaSet":
            return
        rs = self.sets.lister.get(owner.name, namespace=namespace_of(pod))
        if rs is None or uid_of(rs) != owner.uid:
            return
        above = controller_of(rs)
        deployment = self._resolve(namespace_of(rs), above) if above else None
        if deployment is not None and rules.strategy_of(deployment) == rules.RECREATE:
            self.enqueue(deployment)

    # Reconcile

    async def reconcile(self, key: str) -> Result | None:
        """Execute one step of the rollout."""
        deployment = self.deployments.lister.by_key(key)
        if deployment is None or deployment.spec is None:
            return None
        owned = await self._claim(deployment)
        if deployment.metadata is not None and deployment.metadata.deletionTimestamp is None:
            requested = rollback(deployment, owned)
            if requested is not None:
                self.own_writes.note(key, self.deployments, await self.client.update(requested.deployment))
                self.events.event(deployment, requested.event_type, requested.reason, requested.message)
                return None
        running = self._running(owned) if rules.strategy_of(deployment) == rules.RECREATE else OldPodsRun(())
        planned = plan(deployment, owned, old_pods_run=running, now=self.now())
        await self._apply(key, deployment, planned)
        seconds = planned.requeue_after_seconds
        # One additional second, so that the deadline has passed.
        return None if seconds is None else Result(requeue_after_seconds=max(0.0, seconds) + 1)

    async def _claim(self, deployment: Deployment) -> Sequence[ReplicaSet]:
        references = ReferenceManager(
            self.client, deployment, controller_resource=Deployment, dependents=ReplicaSet
        )  # fmt: skip
        selector = _selector(deployment)
        return await references.claim(
            candidates(self.sets.lister, deployment), lambda rs: selector.matches(labels_of(rs))
        )

    def _running(self, owned: Iterable[ReplicaSet]) -> OldPodsRun:
        return OldPodsRun(
            uid_of(rs)
            for rs in owned
            if any(not is_finished(pod) for pod in controlled_by(self.pods.lister, uid_of(rs)))
        )

    async def _apply(self, key: str, deployment: Deployment, planned: Plan) -> None:
        for action in planned.actions:
            match action:
                case CreateSet():
                    await self._create(key, deployment, action)
                case UpdateSet(rs=rs, message=message):
                    self.own_writes.note(key, self.sets, await self.client.update(rs))
                    self._record(deployment, message)
                case DeleteSet(rs=rs):
                    await self.delete_seen(rs)
        if planned.changed:
            self.own_writes.note(key, self.deployments, await self.client.update_status(planned.deployment))

    def _record(self, deployment: Deployment, message: str) -> None:
        if message:
            self.events.event(deployment, "Normal", SCALING, message)

    async def _create(self, key: str, deployment: Deployment, action: CreateSet) -> None:
        try:
            created = await self.client.create(action.rs)
        except AlreadyExists:
            if not await self._is_ours(deployment, action.rs):
                await self._note_collision(deployment)
                raise
            return
        except Exception as error:
            if not is_namespace_terminating(error):
                await self._record_create_failure(deployment, f'"{name_of(action.rs)}": {error}')
            raise
        self.own_writes.note(key, self.sets, created)
        self._record(deployment, action.message)

    async def _is_ours(self, deployment: Deployment, rs: ReplicaSet) -> bool:
        """Report whether the existing ReplicaSet belongs to this Deployment and template, i.e. the cache was stale."""
        live = await self.client.get(ReplicaSet, name_of(rs), namespace=namespace_of(rs))
        template = template_of(live)
        assert deployment.spec is not None
        return (
            is_controlled_by(live, deployment)
            and template is not None
            and same_template(template, deployment.spec.template)
        )

    async def _note_collision(self, deployment: Deployment) -> None:
        """Increment ``status.collisionCount``, so that the next name has another hash."""
        before = deployment.status.collisionCount if deployment.status else None
        new_status = replaced(deployment.status or DeploymentStatus(), collisionCount=(before or 0) + 1)
        self.log.info("found a hash collision for %s: %s", name_of(deployment), new_status.collisionCount)
        await self.client.update_status(replaced(deployment, status=new_status))

    async def _record_create_failure(self, deployment: Deployment, detail: str) -> None:
        message = f"Failed to create new replica set {detail}"
        self.events.event(deployment, "Warning", status.SET_NOT_CREATED, message)
        if status.deadline_seconds(deployment) is None:
            return
        failed: DeploymentCondition = status.progressing("False", status.SET_NOT_CREATED, message, now=self.now())
        new_status = status.with_deployment_condition(deployment.status or DeploymentStatus(), failed)
        try:
            await self.client.update_status(replaced(deployment, status=new_status))
        except Exception as error:  # noqa: BLE001 — the caller raises the original error
            self.log.info("could not write condition ReplicaFailure of %s: %s", name_of(deployment), error)


def _selector(deployment: Deployment) -> LabelSelector:
    assert deployment.spec is not None
    return from_label_selector(msgspec.to_builtins(deployment.spec.selector))


def build(context: ControllerContext) -> DeploymentController:
    """Construct the controller."""
    return DeploymentController(context)
