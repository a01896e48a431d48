"""SELinux labels of a pod's volumes, and conflicts between pods. Pure rules of ``pkg/controller/volume/selinuxwarning``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.client.objects import split_key
from steersman.workloads.pod_volumes import claim_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lightkube.models.core_v1 import PersistentVolume, Pod, SELinuxOptions

RECURSIVE: Final = "Recursive"
_MOUNT_OPTION: Final = "MountOption"


@dataclass(frozen=True, slots=True)
class Use:
    """A pod's use of a volume."""

    #: Specified user, role, type and level; empty if the volume is mounted without label.
    label: str
    policy: str
    driver: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Property in which two pods with the same volume differ; recorded for each of them."""

    #: Property in metrics, and prefix of event reasons.
    property_name: str
    #: Keys of pods.
    pod: str
    value: str
    other: str
    other_value: str

    @property
    def reason(self) -> str:
        """Return the reason of the event."""
        return f"{self.property_name}Conflict"

    @property
    def message(self) -> str:
        """Return the message of the event; a pod of another namespace is not named."""
        end = "If both pods land on the same node, only one of them may access the volume."
        namespace, name = split_key(self.other)
        if namespace == split_key(self.pod)[0]:
            return (
                f'{self.property_name} "{self.value}" conflicts with pod {name} that uses the same volume as this pod '
                f'with {self.property_name} "{self.other_value}". {end}'
            )
        return (
            f'{self.property_name} "{self.value}" conflicts with another pod that uses the same volume as this pod '
            f"with a different {self.property_name}. {end}"
        )


def label_of(options: SELinuxOptions | None) -> str:
    """Return the specified parts of the label; the node's defaults are unknown here."""
    parts = [options.user, options.role, options.type, options.level] if options is not None else []
    return ":".join(part or "" for part in parts) if any(parts) else ""


def differ(label: str, other: str) -> bool:
    """Report whether both labels specify some part differently."""
    pairs = zip(label.split(":", 3), other.split(":", 3), strict=False)
    return any(one and two and one != two for one, two in pairs)


class MountedClaim(NamedTuple):
    """Claim that containers of a pod mount."""

    #: Name of the volume in the pod.
    volume: str
    #: Label of the pod's containers; a privileged one accesses every file and relabels none.
    labels: set[str]


def mounted(pod: Pod) -> dict[str, MountedClaim]:
    """Return the mounted claims by name."""
    spec = pod.spec
    if spec is None:
        return {}
    claims = {volume.name: claim_of(pod, volume) for volume in spec.volumes or ()}
    of_pod = spec.securityContext.seLinuxOptions if spec.securityContext else None
    mounts: dict[str, MountedClaim] = {}
    for container in (*(spec.initContainers or ()), *spec.containers, *(spec.ephemeralContainers or ())):
        own = container.securityContext
        options = (own.seLinuxOptions if own else None) or of_pod
        label = "" if own and own.privileged else label_of(options)
        for mount in container.volumeMounts or ():
            if claims.get(mount.name):
                mounts.setdefault(claims[mount.name], MountedClaim(mount.name, set())).labels.update({label} - {""})
    return mounts


def use_of(pod: Pod, label: str, *, driver: str, mounts_labels: bool) -> Use:
    """Return the use. ``mounts_labels``: the driver supports ``spec.seLinuxMount``."""
    context = pod.spec.securityContext if pod.spec else None
    policy = (context.seLinuxChangePolicy if context else None) or _MOUNT_OPTION
    if not mounts_labels or not label or policy == RECURSIVE:
        return Use("", RECURSIVE, driver)
    return Use(label, policy, driver)


def volume_id(volume: PersistentVolume) -> tuple[str, str] | None:
    """Return driver and volume handle, as PersistentVolumes may share one volume; None if it is not CSI."""
    csi = volume.spec.csi if volume.spec else None
    return (csi.driver, csi.volumeHandle) if csi is not None else None


class Uses:
    """Uses of all volumes: one entry per pod with volumes."""

    def __init__(self) -> None:
        self._by_pod: dict[str, Mapping[tuple[str, str], Use]] = {}
        self._by_volume: dict[tuple[str, str], dict[str, Use]] = {}

    def put(self, pod: str, uses: Mapping[tuple[str, str], Use]) -> list[Conflict]:
        """Replace the uses of a pod; return new conflicts, once for each of both pods."""
        previous_uses = self._by_pod.get(pod, {})
        self.drop(pod)
        conflicts: list[Conflict] = []
        for volume, use in uses.items():
            others = self._by_volume.setdefault(volume, {})
            if previous_uses.get(volume) != use:
                for other, theirs in others.items():
                    conflicts += [*_conflicts(pod, use, other, theirs), *_conflicts(other, theirs, pod, use)]
            others[pod] = use
        if uses:
            self._by_pod[pod] = uses
        return conflicts

    def drop(self, pod: str) -> None:
        """Remove a pod."""
        for volume in self._by_pod.pop(pod, ()):
            users = self._by_volume[volume]
            del users[pod]
            if not users:
                del self._by_volume[volume]

    def pods_of(self, driver: str) -> list[str]:
        """Return the keys of pods with a volume of the driver."""
        return [pod for pod, uses in self._by_pod.items() if any(use.driver == driver for use in uses.values())]

    def conflicts(self) -> Iterator[Conflict]:
        """Yield all conflicts; each pair of pods twice."""
        for users in self._by_volume.values():
            for pod, use in users.items():
                for other, theirs in users.items():
                    if other != pod:
                        yield from _conflicts(pod, use, other, theirs)


def _conflicts(pod: str, use: Use, other: str, theirs: Use) -> Iterable[Conflict]:
    if use.policy != theirs.policy:
        yield Conflict("SELinuxChangePolicy", pod, use.policy, other, theirs.policy)
    if differ(use.label, theirs.label):
        yield Conflict("SELinuxLabel", pod, use.label, other, theirs.label)
