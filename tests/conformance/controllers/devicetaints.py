"""Scenario of pods with devices, and of device taints by drivers and administrators."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from lightkube.models.core_v1 import Pod
from lightkube.models.resource_v1 import ResourceClaim, ResourceSlice
from lightkube.models.resource_v1beta2 import DeviceTaintRule
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World, ensure

from steersman.apimachinery.timestamps import format_time
from steersman.client import custom
from steersman.client.objects import name_of, uid_of
from steersman.runtime.conditions import find_condition

DRIVER = "d.example.com"
POOLS = ("p", "q")
DEVICES = ("x", "y")
PODS = 6
RULES = custom("resource.k8s.io/v1beta2", "DeviceTaintRule", plural="devicetaintrules", namespaced=False,
               model=DeviceTaintRule)  # fmt: skip
_TOLERATIONS: tuple[list[dict[str, Any]], ...] = (
    [],
    [],
    [{"key": "k", "operator": "Exists", "effect": "NoExecute"}],
    [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 15}],
    [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 15}],
    [{"operator": "Exists"}],
)
#: Seconds after which no cache has a removed taint, even if several watches and lists in a row failed, with growing delays.
_REMEMBERED_SECONDS = 120.0
_EFFECTS = ("NoExecute", "NoExecute", "NoSchedule", "None")


class Devicetaints(Scenario):
    """Pods come with an allocated claim; devices are tainted, renewed and lost, rules come and go."""

    #: The second deallocates claims of deleted pods.
    controllers = ("device-taint-eviction-controller", "resourceclaim-controller")

    def __init__(self) -> None:
        #: Pods by UID that were never deleted by users nor tainted, with their allocated devices.
        self._must_stay: dict[str, _Use] = {}
        #: By pool and device, when it last had an evicting taint, in monotonic seconds.
        self._tainted: dict[tuple[str, str], float] = {}

    async def prepare(self, world: World) -> None:
        """Serve the rules' kind, which the server does not serve itself."""
        await world.define(RULES)
        for pool in POOLS:
            await self._write_slice(world, pool)

    def edits(self) -> Edits:
        return [self.make_pod, self.make_pod, self.make_pod, self.terminate_pod, self.replace_pod,
                self.write_slice, self.write_slice, self.write_slice, self.remove_slice,
                self.make_rule, self.change_rule, self.remove_rule, self.free]  # fmt: skip

    async def edit(self, world: World) -> None:
        await super().edit(world)
        await self._excuse(world)

    async def live(self, world: World) -> None:
        await world.remove_deleted_pods()

    # Pods and their claims

    async def make_pod(self, world: World) -> None:
        await self.create_pod(world, f"p{world.dice.randrange(PODS)}")

    async def create_pod(self, world: World, name: str) -> None:
        dice = world.dice
        claims = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}}
        request = {"name": "r", "exactly": {"deviceClassName": "any"}}
        spec = {
            "nodeName": "n",
            "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": [{"name": "d", "resourceClaimName": name}],
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        pod = await world.client.create(body, namespace=NAMESPACE)
        await ensure(world.client.delete(ResourceClaim, name, namespace=NAMESPACE))
        claim = await world.client.create(
            {**claims, "spec": {"devices": {"requests": [request]}}}, namespace=NAMESPACE
        )  # fmt: skip
        result = {"request": "r", "driver": DRIVER, "pool": dice.choice(POOLS), "device": dice.choice(DEVICES)}
        result["tolerations"] = dice.choice(_TOLERATIONS)
        status = {"allocation": {"devices": {"results": [result]}},
                  "reservedFor": [{"resource": "pods", "name": name, "uid": uid_of(pod)}]}  # fmt: skip
        self._must_stay[uid_of(pod)] = _Use(name, result["pool"], result["device"], result["tolerations"])
        await world.client.update_status({**claim, "status": status}, namespace=NAMESPACE)

    async def remove_pod(self, world: World, pod: Pod, *, grace_period_seconds: int) -> None:
        self._must_stay.pop(uid_of(pod), None)
        await super().remove_pod(world, pod, grace_period_seconds=grace_period_seconds)

    async def free(self, world: World) -> None:
        """Deallocate a claim that may be in use."""
        claim = await world.any(ResourceClaim)
        if claim is not None:
            await world.client.patch(
                ResourceClaim, name_of(claim), {"status": None}, namespace=NAMESPACE, subresource="status"
            )

    # Taints

    async def write_slice(self, world: World) -> None:
        await self._write_slice(world, world.dice.choice(POOLS))

    async def _write_slice(self, world: World, pool: str) -> None:
        dice = world.dice
        taints = {device: [_taint(dice.choice(_EFFECTS))] if dice.random() < 0.4 else [] for device in DEVICES}
        spec = {
            "driver": DRIVER,
            "pool": {"name": pool, "generation": dice.choice([1, 1, 2]), "resourceSliceCount": 1},
            "nodeName": "n",
            "devices": [{"name": device, "taints": taints[device]} for device in DEVICES],
        }
        name = f"{pool}{dice.randrange(2)}"
        body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}
        existing = [
            resource_slice
            for resource_slice in await world.client.list(ResourceSlice)
            if name_of(resource_slice) == name
        ]
        if existing:
            body["metadata"]["resourceVersion"] = existing[0].metadata.resourceVersion
            await world.client.update(body)
        else:
            await world.client.create(body)

    async def remove_slice(self, world: World) -> None:
        slices = await world.client.list(ResourceSlice)
        if slices:
            await world.client.delete_object(world.dice.choice(slices))

    async def make_rule(self, world: World) -> None:
        dice = world.dice
        selector = {"pool": dice.choice(POOLS)} if dice.random() < 0.5 else {"device": dice.choice(DEVICES)}
        taint = _taint(dice.choice(_EFFECTS)) | {"timeAdded": format_time(world.clock.now())}
        metadata = {"name": f"r{dice.randrange(2)}"}
        body = {"apiVersion": RULES.info.api_version, "kind": RULES.info.kind, "metadata": metadata}
        await world.client.create({**body, "spec": {"taint": taint, "deviceSelector": selector}})

    async def change_rule(self, world: World) -> None:
        rules = await world.client.list(RULES)
        if rules:
            taint = {"effect": world.dice.choice(_EFFECTS), "timeAdded": format_time(world.clock.now())}
            await world.client.patch(RULES, name_of(world.dice.choice(rules)), {"spec": {"taint": taint}})

    async def remove_rule(self, world: World) -> None:
        rules = await world.client.list(RULES)
        if rules:
            await world.client.delete_object(world.dice.choice(rules))

    # What must be so

    async def _against(self, world: World) -> set[tuple[str, str]]:
        """Return pool and device of each evicting taint."""
        tainted: list[tuple[str, str]] = []
        slices = await world.client.list(ResourceSlice)
        for pool in POOLS:
            members = [resource_slice.spec for resource_slice in slices if resource_slice.spec.pool.name == pool]
            latest = max((spec.pool.generation for spec in members), default=0)
            for spec in members:
                if spec.pool.generation == latest:
                    tainted += [(pool, device.name) for device in spec.devices for taint in device.taints or ()
                              if taint.effect == "NoExecute"]  # fmt: skip
        for rule in await world.client.list(RULES):
            chosen = rule.spec.deviceSelector
            if rule.spec.taint.effect == "NoExecute":
                tainted += [(pool, device) for pool in POOLS for device in DEVICES
                          if chosen.pool in (None, pool) and chosen.device in (None, device)]  # fmt: skip
        return set(tainted)

    async def _uses(self, world: World) -> dict[str, _Use]:
        """Return the devices that each pod uses now, by UID."""
        uses = {}
        for claim in await world.all(ResourceClaim):
            status = msgspec.to_builtins(claim.status)
            for consumer in status.get("reservedFor") or ():
                for result in ((status.get("allocation") or {}).get("devices") or {}).get("results") or ():
                    tolerated = result.get("tolerations") or []
                    uses[consumer["uid"]] = _Use(name_of(claim), result["pool"], result["device"], tolerated)
        return uses

    async def _excuse(self, world: World) -> None:
        """Record pods that are tainted now or were until recently: their deletion is correct."""
        now = world.clock.monotonic()
        for place in await self._against(world):
            self._tainted[place] = now
        for uid, use in list(self._must_stay.items()):
            since = self._tainted.get((use.pool, use.device))
            if since is not None and now - since < _REMEMBERED_SECONDS and not use.tolerates_for_ever:
                del self._must_stay[uid]

    async def wrong(self, world: World) -> str:
        pods = await world.all(Pod)
        existing_uids = {uid_of(pod) for pod in pods}
        lost = sorted(use.name for uid, use in self._must_stay.items() if uid not in existing_uids)
        if lost:
            return f"{lost} are gone, and nothing was against them"
        against, uses = await self._against(world), await self._uses(world)
        for pod in pods:
            use = uses.get(uid_of(pod))
            if use is not None and (use.pool, use.device) in against and not use.tolerates_for_ever:
                return f"{name_of(pod)} was not sent away from {use}"
        for rule in await world.client.list(RULES):
            condition = find_condition(rule.status.conditions if rule.status else None, "EvictionInProgress")
            if condition is None or condition.status != "False":
                return f"{name_of(rule)} says {condition}"
        return ""


class _Use(NamedTuple):
    """Device allocated for a pod, and the pod's name."""

    name: str
    pool: str
    device: str
    tolerations: list[dict[str, Any]]

    @property
    def tolerates_for_ever(self) -> bool:
        return any(toleration.get("tolerationSeconds") is None for toleration in self.tolerations)


def _taint(effect: str) -> dict[str, str]:
    return {"key": "k", "effect": effect}
