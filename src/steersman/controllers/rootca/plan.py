"""Content of ``kube-root-ca.crt``, and ClusterTrustBundles to publish. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import msgspec
from lightkube.models.certificates_v1beta1 import ClusterTrustBundle, ClusterTrustBundleSpec
from lightkube.models.core_v1 import ConfigMap
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client.objects import annotations_of, name_of
from steersman.runtime.structs import with_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import Namespace

NAME: Final = "kube-root-ca.crt"
#: Signer that issues no certificates; its bundle verifies API servers.
SIGNER: Final = "kubernetes.io/kube-apiserver-serving"
#: Length of the hash in a bundle's name.
_HASH_BYTES: Final = 12
_DESCRIPTION: Final = "kubernetes.io/description"
#: Text of upstream's root CA publisher.
_DESCRIPTION_TEXT: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


def accepts_config_map(namespace: Namespace | None) -> bool:
    """Report whether the config map can be created in a namespace, i.e. it exists and is not Terminating."""
    return namespace is not None and (namespace.status is None or namespace.status.phase != "Terminating")


def new_config_map(namespace: str, root_ca: str) -> ConfigMap:
    """Return the config map to create."""
    metadata = ObjectMeta(name=NAME, namespace=namespace, annotations={_DESCRIPTION: _DESCRIPTION_TEXT})
    return ConfigMap(metadata=metadata, data={"ca.crt": root_ca})


def corrected(present: ConfigMap, root_ca: str) -> ConfigMap | None:
    """Return ``present`` with the desired data; None if it has it."""
    data = {"ca.crt": root_ca}
    if present.data == data and annotations_of(present).get(_DESCRIPTION):
        return None
    annotations = {**annotations_of(present), _DESCRIPTION: _DESCRIPTION_TEXT}
    return msgspec.structs.replace(with_metadata(present, annotations=annotations), data=data)


@dataclass(frozen=True, slots=True)
class Bundles:
    """ClusterTrustBundles to create and delete."""

    create: ClusterTrustBundle | None = None
    update: ClusterTrustBundle | None = None
    delete: tuple[ClusterTrustBundle, ...] = ()


def bundle_name(bundle: str) -> str:
    """Return the name by content, so that a new bundle exists before the old one is deleted."""
    digest = sha256(bundle.encode()).digest()[:_HASH_BYTES].hex()
    return f"{SIGNER.replace('/', ':')}:{digest}"


def plan_bundles(present: Iterable[ClusterTrustBundle], bundle: str) -> Bundles:
    """Return the writes. ``present``: all bundles of the signer; exactly one stays."""
    name = bundle_name(bundle)
    by_name = {name_of(config_map): config_map for config_map in present}
    right = by_name.pop(name, None)
    obsolete = tuple(by_name.values())
    spec = ClusterTrustBundleSpec(signerName=SIGNER, trustBundle=bundle)
    if right is None:
        return Bundles(create=ClusterTrustBundle(metadata=ObjectMeta(name=name), spec=spec), delete=obsolete)
    if right.spec.trustBundle != bundle:
        return Bundles(update=msgspec.structs.replace(right, spec=spec), delete=obsolete)
    return Bundles(delete=obsolete)
