"""SELinux warning controller: watches pods, claims, volumes and drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod
from lightkube.models.storage_v1 import CSIDriver
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from steersman.client.changes import Updated
from steersman.client.objects import key_of, name_of, namespace_of, split_key, uid_of
from steersman.controllers.selinuxwarning.plan import Use, Uses, mounted, use_of, volume_id
from steersman.controllers.shared.base import ManagedController
from steersman.workloads.pod_volumes import claim_keys_of
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

_BY_CLAIM: Final = "labelled claim"
_METRIC: Final = "selinux_warning_controller_selinux_volume_conflict"
_LABELS: Final = (
    "property", "pod1_namespace", "pod1_name", "pod1_value", "pod2_namespace", "pod2_name", "pod2_value",
)  # fmt: skip


class SELinuxWarningController(ManagedController):
    """Reconciles pods."""

    name: ClassVar[str] = "selinux-warning-controller"
    queue_name: ClassVar[str] = "selinux_warning"
    component: ClassVar[str] = "selinux_warning"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._uses: Final = Uses()
        self._pods = self.watch(Pod, when=_begins_or_ends)
        self._pods.add_index(_BY_CLAIM, claim_keys_of)
        self._claims = self.watch(PersistentVolumeClaim, keys=self._pods_of_claim)
        self._volumes = self.watch(PersistentVolume, keys=self._pods_of_volume)
        self._drivers = self.watch(CSIDriver, keys=lambda driver: self._uses.pods_of(name_of(driver)))
        context.metrics.registry.register(_Conflicts(self._uses))

    def _pods_of_claim(self, claim: PersistentVolumeClaim) -> list[str]:
        return [key_of(pod) for pod in self._pods.lister.by_index(_BY_CLAIM, key_of(claim))]

    def _pods_of_volume(self, volume: PersistentVolume) -> list[str]:
        claim = volume.spec.claimRef if volume.spec else None
        if claim is None:
            return []
        return [key_of(pod) for pod in self._pods.lister.by_index(_BY_CLAIM, f"{claim.namespace}/{claim.name}")]

    async def reconcile(self, key: str) -> None:
        """Record the pod's use of volumes, and an event for each new conflict."""
        pod = self._pods.lister.by_key(key)
        if pod is None or is_finished(pod):
            self._uses.drop(key)
            return
        for conflict in self._uses.put(key, self._uses_of(pod)):
            conflicting = self._pods.lister.by_key(conflict.pod)
            if conflicting is not None:
                self.events.event(conflicting, "Normal", conflict.reason, conflict.message)

    def _uses_of(self, pod: Pod) -> dict[tuple[str, str], Use]:
        uses = {}
        for claim, (name, labels) in mounted(pod).items():
            volume = self._volume_of(namespace_of(pod), claim)
            identity = volume_id(volume) if volume is not None else None
            if identity is None:
                continue
            if len(labels) > 1:
                text = f'Volume "{name}" is mounted twice with different SELinux labels inside this pod'
                self.events.event(pod, "Warning", "MultipleSELinuxLabels", text)
                continue
            driver = self._drivers.lister.get(identity[0])
            mounts_labels = bool(driver is not None and driver.spec.seLinuxMount)
            uses[identity] = use_of(pod, "".join(labels), driver=identity[0], mounts_labels=mounts_labels)
        return uses

    def _volume_of(self, namespace: str, name: str) -> PersistentVolume | None:
        """Return the volume of a claim if both are bound to each other."""
        claim = self._claims.lister.get(name, namespace=namespace)
        volume = self._volumes.lister.get(claim.spec.volumeName or "") if claim is not None and claim.spec else None
        reference = volume.spec.claimRef if volume is not None and volume.spec else None
        return volume if claim is not None and reference is not None and reference.uid == uid_of(claim) else None


class _Conflicts(Collector):
    """Gauge with 1 for each conflict, collected on scrape."""

    def __init__(self, uses: Uses) -> None:
        self._uses = uses

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily(_METRIC, "Conflict between two Pods using the same volume", labels=_LABELS)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        (family,) = self.describe()
        samples = {}
        for conflict in self._uses.conflicts():
            labels = (
                conflict.property_name,
                *split_key(conflict.pod),
                conflict.value,
                *split_key(conflict.other),
                conflict.other_value,
            )
            samples[labels] = 1.0
        for labels, value in samples.items():
            family.add_metric(labels, value)
        yield family


def _begins_or_ends(change: Change[Pod]) -> bool:
    """Report whether a pod event can change conflicts; updates matter only for ephemeral containers."""
    if not claim_keys_of(change.latest):
        return False
    return not isinstance(change, Updated) or _relevant_state(change.old) != _relevant_state(change.new)


def _relevant_state(pod: Pod) -> tuple[bool, int]:
    return is_finished(pod), len((pod.spec.ephemeralContainers if pod.spec else None) or ())


def build(context: ControllerContext) -> SELinuxWarningController:
    """Construct the controller."""
    return SELinuxWarningController(context)
