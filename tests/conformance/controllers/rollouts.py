"""Scenario of workloads in namespaces that are deleted during rollouts: nothing is left behind, the others complete."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lightkube.models import apps_v1, batch_v1
from lightkube.models.core_v1 import Namespace, Pod, ResourceQuota
from lightkube.models.policy_v1 import PodDisruptionBudget
from tests.conformance.controllers.replication import pods_of, template
from tests.conformance.histories import Edits, Scenario, World, ensure

from steersman.client.objects import labels_of, metadata_field, name_of, namespace_of, uid_of
from steersman.controllers.job import facts
from steersman.controllers.statefulset import identity
from steersman.runtime.owners import controller_of
from steersman.workloads.pods import is_active, is_ready

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMESPACES = ("n1", "n2")
SIZES = (0, 1, 2, 4)
WORKLOADS: tuple[type[Any], ...] = (apps_v1.Deployment, apps_v1.StatefulSet, batch_v1.Job)
DEPENDENTS: tuple[type[Any], ...] = (Pod, apps_v1.ReplicaSet, apps_v1.ControllerRevision)
QUOTA = {"count/pods": "100", "count/deployments.apps": "9", "count/jobs.batch": "9"}


class Rollouts(Scenario):
    """Each namespace has at most one workload of each kind, a budget over all Pods, and a quota."""

    controllers = ("deployment", "replicaset", "statefulset", "job", "disruption", "resourcequota", "namespace",
                   "serviceaccount", "garbagecollector", "podgc")  # fmt: skip

    def edits(self) -> Edits:
        return [self.make_namespace, self.make_namespace, self.remove_namespace, self.make, self.make, self.make,
                self.change_template, self.change_template, self.scale, self.protect, self.limit, self.remove,
                self.evict, self.lose_pod]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as kubelets: Pods of Jobs succeed, the others become ready, deleted ones end."""
        for pod in await world.client.list(Pod):
            if metadata_field(pod, "deletionTimestamp"):
                await world.client.delete_object(pod, grace_period_seconds=0)
            elif is_active(pod) and not is_ready(pod) and world.dice.random() < 0.5:
                ends = "app" in labels_of(pod) and labels_of(pod)["app"] == batch_v1.Job.__name__
                state = {"phase": "Succeeded" if ends else "Running"}
                ready = {"type": "Ready", "status": str(not ends), "lastTransitionTime": world.clock.now()}
                await world.client.patch(Pod, name_of(pod), {"status": {**state, "conditions": [ready]}},
                                         namespace=namespace_of(pod), subresource="status")  # fmt: skip

    async def any_of(self, world: World, *models: type[Any]) -> Any:
        """Return a random object of the kinds in any namespace; None if there is none."""
        objects = [obj for model in models for obj in await world.client.list(model)]
        return world.dice.choice(objects) if objects else None

    async def make_namespace(self, world: World) -> None:
        metadata = {"name": world.dice.choice(NAMESPACES)}
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

    async def remove_namespace(self, world: World) -> None:
        await world.client.delete(Namespace, world.dice.choice(NAMESPACES))

    async def make(self, world: World) -> None:
        dice, kind = world.dice, world.dice.choice(WORKLOADS).__name__
        pods = template(kind, all="yes", v="1")
        spec: dict[str, Any] = {
            "replicas": dice.choice(SIZES),
            "template": pods,
            "selector": {"matchLabels": {"app": kind}},
        }
        if kind == "StatefulSet":
            spec |= {"serviceName": "s", "podManagementPolicy": dice.choice(["OrderedReady", "Parallel"])}
        if kind == "Job":
            pods["spec"]["restartPolicy"] = "Never"
            spec = {"completions": dice.choice(SIZES), "parallelism": 2, "backoffLimit": 100, "template": pods}
        metadata = {"name": "w", "namespace": dice.choice(NAMESPACES)}
        version = "batch/v1" if kind == "Job" else "apps/v1"
        await world.client.create({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})

    async def _patch(self, world: World, spec: dict[str, Any]) -> None:
        obj = await self.any_of(world, apps_v1.Deployment, apps_v1.StatefulSet)
        if obj is not None:
            await world.client.patch(type(obj), name_of(obj), {"spec": spec}, namespace=namespace_of(obj))

    async def change_template(self, world: World) -> None:
        await self._patch(world, {"template": {"metadata": {"labels": {"v": world.dice.choice("1234")}}}})

    async def scale(self, world: World) -> None:
        await self._patch(world, {"replicas": world.dice.choice(SIZES)})

    async def protect(self, world: World) -> None:
        spec = {"selector": {"matchLabels": {"all": "yes"}}, "minAvailable": world.dice.choice([0, 2])}
        metadata = {"name": "b", "namespace": world.dice.choice(NAMESPACES)}
        await world.client.create(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
        )

    async def limit(self, world: World) -> None:
        metadata = {"name": "q", "namespace": world.dice.choice(NAMESPACES)}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": QUOTA}}
        await world.client.create(quota)

    async def remove(self, world: World) -> None:
        obj = await self.any_of(world, *WORKLOADS)
        if obj is not None:
            policy = world.dice.choice(["Background", "Foreground"])
            await world.client.delete_object(obj, propagation_policy=policy)

    async def evict(self, world: World) -> None:
        pod = await self.any_of(world, Pod)
        if pod is not None:
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name_of(pod)}}
            eviction = world.client.create_subresource(Pod, name_of(pod), "eviction", body, namespace=namespace_of(pod))
            evicting = asyncio.create_task(ensure(eviction))
            await world.advance(15)  # a refusal may name the time of the next attempt, which the client waits for
            evicting.cancel()
            with suppress(asyncio.CancelledError):
                await evicting

    async def lose_pod(self, world: World) -> None:
        pod = await self.any_of(world, Pod)
        if pod is not None:
            await world.client.delete_object(pod, grace_period_seconds=world.dice.choice([0, 30]))

    async def wrong(self, world: World) -> str:
        namespaces = await world.client.list(Namespace)
        for namespace in namespaces:
            if metadata_field(namespace, "deletionTimestamp"):
                return f"namespace {name_of(namespace)} is still there: {namespace.status}"
        objects = {model: await world.client.list(model) for model in (*WORKLOADS, *DEPENDENTS, PodDisruptionBudget)}
        every = [obj for members in objects.values() for obj in members]
        lost = {namespace_of(obj) for obj in every} - {name_of(namespace) for namespace in namespaces}
        if lost:
            return f"objects in namespaces that are gone: {lost}"
        uids = {uid_of(obj) for obj in every}
        unowned = [name_of(obj) for obj in every if (owner := controller_of(obj)) is not None and owner.uid not in uids]
        if unowned:
            return f"dependents of objects that are gone: {unowned}"
        pods: Sequence[Pod] = objects[Pod]
        faults = [
            *(self._deployment_fault(one, objects[apps_v1.ReplicaSet], pods) for one in objects[apps_v1.Deployment]),
            *(self._statefulset_fault(one, pods) for one in objects[apps_v1.StatefulSet]),
            *(self._job_fault(one) for one in objects[batch_v1.Job]),
            *(self._budget_fault(one, pods) for one in objects[PodDisruptionBudget]),
            await self._quota_fault(world, objects),
        ]
        return next(filter(None, faults), "")

    def _deployment_fault(
        self, deployment: apps_v1.Deployment, sets: Sequence[apps_v1.ReplicaSet], pods: Sequence[Pod]
    ) -> str:
        mine = [pod for owned in sets if pods_of([owned], deployment) for pod in pods_of(list(pods), owned)]
        version, expected = labels_of(deployment.spec.template).get("v"), deployment.spec.replicas
        new = [pod for pod in mine if labels_of(pod).get("v") == version]
        status = deployment.status
        reported = {count or 0 for count in (status.replicas, status.updatedReplicas, status.availableReplicas)}
        is_right = len(mine) == len(new) == expected and reported == {expected}
        return "" if is_right else f"{expected} replicas, {len(new)} new pods of {len(mine)}: {status}"

    def _statefulset_fault(self, sts: apps_v1.StatefulSet, pods: Sequence[Pod]) -> str:
        mine = pods_of(list(pods), sts)
        version = labels_of(sts.spec.template).get("v")
        names = sorted(name_of(pod) for pod in mine if labels_of(pod).get("v") == version)
        expected = sorted(identity.pod_name(sts, ordinal) for ordinal in identity.ordinals(sts))
        ready = sts.status.readyReplicas or 0
        is_right = names == expected and len(mine) == len(expected) == ready
        return "" if is_right else f"pods {names} of {len(mine)} instead of {expected}: {sts.status}"

    def _job_fault(self, job: batch_v1.Job) -> str:
        is_right = facts.is_finished(job) and (job.status.succeeded or 0) == job.spec.completions
        return "" if is_right else f"a Job has not ended: {job.status}"

    def _budget_fault(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> str:
        mine = [pod for pod in pods if namespace_of(pod) == namespace_of(budget)]  # also those that have ended
        expected = (len(mine), sum(map(is_ready, mine)))
        status = budget.status
        reported = (status.expectedPods, status.currentHealthy) if status else None
        return "" if reported == expected else f"a budget counts {reported} instead of {expected}"

    async def _quota_fault(self, world: World, objects: dict[type[Any], list[Any]]) -> str:
        kinds = (
            ("count/pods", Pod),
            ("count/deployments.apps", apps_v1.Deployment),
            ("count/jobs.batch", batch_v1.Job),
        )
        for quota in await world.client.list(ResourceQuota):
            inside = {
                name: str(sum(namespace_of(obj) == namespace_of(quota) for obj in objects[model]))
                for name, model in kinds
            }
            used = quota.status.used if quota.status else None
            if used != inside:
                return f"quota of {namespace_of(quota)} says {used}, there are {inside}"
        return ""
