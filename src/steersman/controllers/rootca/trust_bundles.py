"""``kube-apiserver-serving-clustertrustbundle-publisher-controller``: the cluster's CA as a ClusterTrustBundle (KEP-3257)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from cryptography import x509
from lightkube.models.certificates_v1beta1 import ClusterTrustBundle

from steersman.client import custom
from steersman.controllers.rootca.plan import SIGNER, plan_bundles
from steersman.controllers.rootca.source import root_ca
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.client import ResourceType
    from steersman.controllers.context import ControllerContext

#: Beta and off by default in 1.36: served only with ``--runtime-config``.
BUNDLES: Final[ResourceType[ClusterTrustBundle]] = custom(
    "certificates.k8s.io/v1beta1",
    "ClusterTrustBundle",
    plural="clustertrustbundles",
    namespaced=False,
    model=ClusterTrustBundle,
)
_ALL: Final = "bundles"


class TrustBundlePublisher(ManagedController):
    """Reconciles one key for all bundles of the signer."""

    name: ClassVar[str] = "kube-apiserver-serving-clustertrustbundle-publisher-controller"

    def __init__(self, context: ControllerContext, *, bundle: str) -> None:
        """``bundle``: certificates in PEM."""
        super().__init__(context)
        self._bundle = bundle
        self._bundles = self.watch(BUNDLES, keys=lambda _: (_ALL,), field_selector={"spec.signerName": SIGNER})

    async def start(self) -> None:
        """Enqueue the key, as there may be no bundle and no event."""
        self.queue.add(_ALL)

    async def reconcile(self, key: str) -> None:
        """Create the desired bundle before others are deleted."""
        planned = plan_bundles(self._bundles.lister, self._bundle)
        if planned.create is not None:
            self.record_created(key, self._bundles, await self.client.create(planned.create))
        if planned.update is not None:
            self.own_writes.note(key, self._bundles, await self.client.update(planned.update))
        for obsolete in planned.delete:
            await self.delete_seen(obsolete)


def build(context: ControllerContext) -> TrustBundlePublisher | None:
    """Construct the controller; None without a CA. Raises ValueError for a CA that is not in PEM."""
    bundle = root_ca(context)
    if not bundle:
        return None
    try:
        x509.load_pem_x509_certificates(bundle.encode())
    except ValueError as error:
        raise ValueError(f"error parsing root-ca-file {context.options.root_ca_file!r}: {error}") from error
    return TrustBundlePublisher(context, bundle=bundle)
