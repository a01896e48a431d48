"""Controller of ephemeral volumes: watches pods and deleted claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import PersistentVolumeClaim, Pod
from prometheus_client import Counter

from steersman.client.changes import Added, Deleted
from steersman.client.errors import AlreadyExists, ApiError, ClientError
from steersman.client.objects import key_of, namespace_of
from steersman.controllers.ephemeralvolume.plan import ForeignClaim, is_missing, wanted_claims
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext


_BY_CLAIM: Final = "ephemeral volume claim"


class EphemeralVolumeController(ManagedController):
    """Reconciles pods."""

    name: ClassVar[str] = "ephemeral-volume-controller"
    queue_name: ClassVar[str] = "ephemeral_volume"
    component: ClassVar[str] = "ephemeral_volume"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_ephemeralvolume_syncs)
        self._pods = self.watch(Pod, when=lambda change: isinstance(change, Added) and bool(wanted_claims(change.new)))
        self._pods.add_index(_BY_CLAIM, _claim_keys)
        registry = context.metrics.registry
        self._created = Counter(
            "ephemeral_volume_controller_create_total", "Attempts to create a claim", registry=registry
        )
        self._failures = Counter(
            "ephemeral_volume_controller_create_failures_total",
            "Attempts to create a claim that failed",
            registry=registry,
        )
        self._claims = self.watch(
            PersistentVolumeClaim, keys=self._pods_of, when=lambda change: isinstance(change, Deleted)
        )

    def _pods_of(self, claim: PersistentVolumeClaim) -> list[str]:
        """Return the pods that need a claim of this name."""
        return [key_of(pod) for pod in self._pods.lister.by_index(_BY_CLAIM, key_of(claim))]

    async def reconcile(self, key: str) -> None:
        """Create missing claims; stops at the first failure."""
        pod = self._pods.lister.by_key(key)
        if pod is None:
            return
        namespace = namespace_of(pod)
        for volume, claim in wanted_claims(pod).items():
            try:
                if is_missing(pod, claim, lambda name: self._claims.lister.get(name, namespace=namespace)):
                    self.record_created(key, self._claims, await self._create(claim))
            except AlreadyExists:
                raise  # the cache is stale, or the claim has another owner; the retry distinguishes them
            except (ApiError, ForeignClaim) as error:
                text = f"ephemeral volume {volume}: {error}"
                self.events.event(pod, "Warning", "FailedBinding", text)
                raise ClientError(f"pod {key}, {text}") from error

    async def _create(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        self._created.inc()
        with self._failures.count_exceptions():
            return await self.client.create(claim)


def _claim_keys(pod: Pod) -> list[str]:
    return [key_of(claim) for claim in wanted_claims(pod).values()]


def build(context: ControllerContext) -> EphemeralVolumeController:
    """Construct the controller."""
    return EphemeralVolumeController(context)
