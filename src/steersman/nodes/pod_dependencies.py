"""Objects on which the start of a pod depends: Secrets and ConfigMaps, keys of them, and claims.

Secrets and ConfigMaps are watched as metadata only. A pod that lacks something is requeued when the object is created or changes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lightkube.models.core_v1 import ConfigMap, Secret

from steersman.client import tree
from steersman.client.changes import Deleted
from steersman.client.errors import NotFound
from steersman.client.objects import key_of, namespace_of
from steersman.client.partial_metadata import metadata_only
from steersman.nodes.claims import claim_error, claim_volumes
from steersman.nodes.object_keys import UNKNOWN, ObjectKeyReader
from steersman.nodes.references import missing_pull_secrets, missing_references, references

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.nodes.object_keys import Keys
    from steersman.nodes.references import MissingReference
    from steersman.runtime.controller import Controller

_CLAIM: Final = "PersistentVolumeClaim"
_CLAIMS: Final = tree("v1", _CLAIM)


class PodDependencies:
    """Dependencies of the pods of one controller, whose queue gets the keys of pods to be checked again."""

    def __init__(self, controller: Controller) -> None:
        self._client = controller.client
        self._queue = controller.queue
        self._object_keys = ObjectKeyReader(controller.client)
        self._config_maps = controller.informer(metadata_only(ConfigMap))
        self._secrets = controller.informer(metadata_only(Secret))
        self._claims = controller.informer(_CLAIMS)
        #: Keys of pods that wait for a missing object or a key of it, by the object's kind and key.
        self._waiting: dict[tuple[str, str], dict[str, None]] = {}
        informers = (("ConfigMap", self._config_maps), ("Secret", self._secrets), (_CLAIM, self._claims))
        for kind, informer in informers:
            informer.add_callback(partial(self._changed, kind))

    async def missing(self, key: str, pod: Tree) -> list[MissingReference]:
        """Return the missing Secrets, ConfigMaps and keys, and requeue the pod when one of the objects changes."""
        if next(references(pod), None) is None:
            return []
        missing = missing_references(pod, await self._existing_keys(key, pod))
        self._await(key, namespace_of(pod), [(reference.kind, reference.name) for reference, _ in missing])
        return missing

    def missing_pull_secrets(self, pod: Tree) -> list[str]:
        """Return the names of missing Secrets for image pulls, which a pod does not wait for."""
        return missing_pull_secrets(pod, self._exists)

    async def unbound_claims(self, key: str, pod: Tree) -> dict[str, str]:
        """Return the errors of claims that are not bound, by volume, and requeue the pod when such a claim changes."""
        namespace = namespace_of(pod)
        errors: dict[str, str] = {}
        for volume in claim_volumes(pod):
            claim = self._claims.lister.get(volume.claim, namespace=namespace)
            if not claim_error(claim, volume, pod):
                continue
            self._await(key, namespace, [(_CLAIM, volume.claim)])
            try:  # the cache may be behind the binding of the pod
                claim = await self._client.get(_CLAIMS, volume.claim, namespace=namespace)
            except NotFound:
                claim = None
            error = claim_error(claim, volume, pod)
            if error:
                errors[volume.volume] = error
            else:
                self._stop_waiting(key, namespace, [(_CLAIM, volume.claim)])
        return errors

    async def _existing_keys(self, key: str, pod: Tree) -> dict[tuple[str, str], Keys]:
        """Return the keys of existing objects that the pod refers to, by kind and name; read only if a key is required.

        An object that changes during the reads requeues the pod.
        """
        namespace = namespace_of(pod)
        keys: dict[tuple[str, str], Keys] = {
            (reference.kind, reference.name): UNKNOWN
            for reference in references(pod)
            if self._exists(reference.kind, namespace, reference.name)
        }
        keyed = list(dict.fromkeys((reference.kind, reference.name) for reference in references(pod) if reference.key))
        self._await(key, namespace, keyed)
        try:
            for kind, name in keyed:
                metadata = self._object(kind, namespace, name)
                read = None if metadata is None else await self._object_keys.keys(kind, metadata)
                if read is None:
                    keys.pop((kind, name), None)
                else:
                    keys[kind, name] = read
        finally:
            self._stop_waiting(key, namespace, keyed)
        return keys

    def _object(self, kind: str, namespace: str, name: str) -> Any | None:
        informer = self._secrets if kind == "Secret" else self._config_maps
        return informer.lister.get(name, namespace=namespace)

    def _exists(self, kind: str, namespace: str, name: str) -> bool:
        return self._object(kind, namespace, name) is not None

    def _changed(self, kind: str, change: Change[Any]) -> None:
        if isinstance(change, Deleted):
            self._object_keys.forget(kind, key_of(change.latest))
            return
        for key in self._waiting.pop((kind, key_of(change.latest)), ()):
            self._queue.add(key)

    def _await(self, key: str, namespace: str, objects: Iterable[tuple[str, str]]) -> None:
        """Requeue the pod when one of the objects is created or changes."""
        for kind, name in objects:
            self._waiting.setdefault((kind, f"{namespace}/{name}"), {})[key] = None

    def _stop_waiting(self, key: str, namespace: str, objects: Iterable[tuple[str, str]]) -> None:
        for kind, name in objects:
            place = kind, f"{namespace}/{name}"
            waiting = self._waiting.get(place, {})
            waiting.pop(key, None)
            if not waiting:
                self._waiting.pop(place, None)
