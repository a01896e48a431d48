"""Recycling of volumes with reclaim policy ``Recycle`` by a pod in ``default``, as upstream."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
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

from steersman.apimachinery.quantity import parse
from steersman.client.changes import Added
from steersman.client.errors import AlreadyExists, NotFound
from steersman.client.objects import name_of, namespace_of, uid_of
from steersman.workloads.pods import phase_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightkube.models.core_v1 import PersistentVolume

    from steersman.client import Client
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.options import ControllerOptions

NAMESPACE: Final = "default"
_PREFIX: Final = "recycler-for-"
_IMAGE: Final = "registry.k8s.io/debian-base:v2.0.0"
_SCRUB: Final = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
_GIB: Final = 1 << 30


class SourceSettings(msgspec.Struct, frozen=True):
    """Recycler settings of one volume source."""

    #: Deadline of the pod in seconds: the minimum, and the increment for each GiB.
    minimum_seconds: int
    increment_seconds: int
    #: Pod whose first volume is replaced by the source; None: the default pod.
    template: Pod | None = None

    def deadline_seconds(self, volume: PersistentVolume) -> int:
        """Return how long the pod may run (upstream: ``CalculateTimeoutForVolume``)."""
        capacity = (volume.spec.capacity if volume.spec else None) or {}
        size_gib = int(parse(str(capacity.get("storage", "0")))) // _GIB
        return max(self.minimum_seconds, size_gib * self.increment_seconds)


class RecyclerSettings(msgspec.Struct, frozen=True):
    """Recycler settings by volume source."""

    host_path: SourceSettings = SourceSettings(60, 30)
    nfs: SourceSettings = SourceSettings(300, 30)

    @classmethod
    def of(cls, options: ControllerOptions) -> RecyclerSettings:
        """Return the settings of the ``pv_recycler`` options. Raises ``ValueError`` for a template that cannot be used."""
        return cls(
            SourceSettings(
                options.pv_recycler_minimum_timeout_hostpath,
                options.pv_recycler_timeout_increment_hostpath,
                read_template(options.pv_recycler_pod_template_filepath_hostpath),
            ),
            SourceSettings(
                options.pv_recycler_minimum_timeout_nfs,
                options.pv_recycler_increment_timeout_nfs,
                read_template(options.pv_recycler_pod_template_filepath_nfs),
            ),
        )


_DEFAULT_SETTINGS: Final = RecyclerSettings()


def read_template(path: str) -> Pod | None:
    """Return the pod of a YAML or JSON file; None without a path. Raises ``ValueError``.

    Upstream: ``ValidateRecyclerPodTemplate``, which requires a volume to replace.
    """
    if not path:
        return None
    import yaml  # noqa: PLC0415 — deferred: hardly any manager has such a file

    try:
        tree = yaml.safe_load(Path(path).read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ValueError(f"recycler pod template {path}: {error}") from error
    try:
        pod = msgspec.convert(tree, Pod)
    except msgspec.ValidationError as error:
        raise ValueError(f"recycler pod template {path}: {error}") from error
    if pod.spec is None or not pod.spec.volumes:
        raise ValueError(f"recycler pod template {path}: does not contain any volume(s)")
    return pod


class Recycler:
    """Runner of one recycler pod per volume; the pod's phase is the state."""

    def __init__(
        self, client: Client, pods: Informer[Pod], wake: Callable[[str], None], *, settings: RecyclerSettings
    ) -> None:
        """``wake`` is called with the name of a volume whose pod changed."""
        self._client = client
        self._pods = pods
        self._wake = wake
        self._settings = settings
        pods.add_callback(self._changed)

    def _changed(self, change: Change[Pod]) -> None:
        name = name_of(change.latest)
        is_news = not (isinstance(change, Added) and change.is_initial)
        if is_news and namespace_of(change.latest) == NAMESPACE and name.startswith(_PREFIX):
            self._wake(name.removeprefix(_PREFIX))

    async def advance(self, volume: PersistentVolume) -> str:
        """Return ``done``, empty while the pod runs, or why it failed."""
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
        with suppress(AlreadyExists):
            await self._client.create(recycler_pod(volume, self._settings))

    async def _remove(self, pod: Pod) -> None:
        with suppress(NotFound):
            await self._client.delete_object(pod, uid=uid_of(pod))


def recycler_pod(volume: PersistentVolume, settings: RecyclerSettings = _DEFAULT_SETTINGS) -> Pod:
    """Return the pod that mounts the volume's directory and empties it."""
    assert volume.spec is not None
    if volume.spec.nfs is not None:
        chosen = settings.nfs
        source = Volume(name="vol", nfs=NFSVolumeSource(path=volume.spec.nfs.path, server=volume.spec.nfs.server))
    else:
        chosen = settings.host_path
        path = volume.spec.hostPath.path if volume.spec.hostPath else ""
        source = Volume(name="vol", hostPath=HostPathVolumeSource(path=path))
    pod = _with_source(chosen.template or _default_pod(), source)
    assert pod.spec is not None
    metadata = msgspec.structs.replace(
        pod.metadata or ObjectMeta(), name=_PREFIX + name_of(volume), namespace=NAMESPACE, generateName=None
    )
    spec = msgspec.structs.replace(pod.spec, activeDeadlineSeconds=chosen.deadline_seconds(volume))
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec)


def _default_pod() -> Pod:
    container = Container(
        name="recycler",
        image=_IMAGE,
        command=["/bin/sh"],
        args=["-c", _SCRUB],
        volumeMounts=[VolumeMount(name="vol", mountPath="/scrub")],
    )
    return Pod(spec=PodSpec(restartPolicy="Never", volumes=[Volume(name="vol")], containers=[container]))


def _with_source(template: Pod, source: Volume) -> Pod:
    """Return the pod with the source as its first volume, under the original name."""
    assert template.spec is not None
    first, *others = template.spec.volumes or [source]
    volumes = [msgspec.structs.replace(source, name=first.name), *others]
    return msgspec.structs.replace(template, spec=msgspec.structs.replace(template.spec, volumes=volumes))
