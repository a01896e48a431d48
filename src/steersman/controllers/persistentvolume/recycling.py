"""Scrubbing volumes with the policy ``Recycle``: a pod in ``default`` empties them, as upstream has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lightkube.models.core_v1 import (
    Container,
    HostPathVolumeSource,
    NFSVolumeSource,
    Pod,
    PodSpec,
    Volume,
    VolumeMount,
)
from lightkube.models.meta_v1 import ObjectMeta

from steersman.apimachinery.errors import is_already_exists, is_not_found
from steersman.client.changes import Added
from steersman.client.errors import ApiError
from steersman.client.objects import name_of, namespace_of, uid_of
from steersman.runtime.pods import phase_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightkube.models.core_v1 import PersistentVolume

    from steersman.client import Client
    from steersman.client.changes import Change
    from steersman.client.informer import Informer

NAMESPACE: Final = "default"
_PREFIX: Final = "recycler-for-"
_IMAGE: Final = "registry.k8s.io/debian-base:v2.0.0"
_DEADLINE_SECONDS: Final = 60
_SCRUB: Final = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'


class Recycler:
    """One pod for each volume that is recycled; what it has come to is read from its phase."""

    def __init__(self, client: Client, pods: Informer[Pod], wake: Callable[[str], None]) -> None:
        """``wake`` is told the name of a volume whose pod changed."""
        self._client = client
        self._pods = pods
        self._wake = wake
        pods.add_callback(self._changed)

    def _changed(self, change: Change[Pod]) -> None:
        name = name_of(change.latest)
        is_news = not (isinstance(change, Added) and change.is_initial)
        if is_news and namespace_of(change.latest) == NAMESPACE and name.startswith(_PREFIX):
            self._wake(name.removeprefix(_PREFIX))

    async def advance(self, volume: PersistentVolume) -> str:
        """``done``, empty while it goes on, or why it failed."""
        pod = self._pods.lister.get(_PREFIX + name_of(volume), namespace=NAMESPACE)
        if pod is None:
            await self._start(volume)
            return ""
        phase = phase_of(pod)
        if phase not in ("Succeeded", "Failed"):
            return ""
        await self._remove(pod)
        if phase == "Succeeded":
            return "done"
        return (pod.status.message if pod.status else None) or "pod failed, pod.Status.Message unknown."

    async def _start(self, volume: PersistentVolume) -> None:
        try:
            await self._client.create(recycler_pod(volume))
        except ApiError as error:
            if not is_already_exists(error):
                raise

    async def _remove(self, pod: Pod) -> None:
        try:
            await self._client.delete_object(pod, uid=uid_of(pod))
        except ApiError as error:
            if not is_not_found(error):
                raise


def recycler_pod(volume: PersistentVolume) -> Pod:
    """Mounts the volume's directory and empties it."""
    assert volume.spec is not None
    source = Volume(name="vol")
    if volume.spec.hostPath is not None:
        source.hostPath = HostPathVolumeSource(path=volume.spec.hostPath.path)
    elif volume.spec.nfs is not None:
        source.nfs = NFSVolumeSource(path=volume.spec.nfs.path, server=volume.spec.nfs.server)
    container = Container(
        name="recycler",
        image=_IMAGE,
        command=["/bin/sh"],
        args=["-c", _SCRUB],
        volumeMounts=[VolumeMount(name="vol", mountPath="/scrub")],
    )
    spec = PodSpec(
        activeDeadlineSeconds=_DEADLINE_SECONDS, restartPolicy="Never", volumes=[source], containers=[container]
    )
    return Pod(metadata=ObjectMeta(name=_PREFIX + name_of(volume), namespace=NAMESPACE), spec=spec)
