"""What a namespace's ``kube-root-ca.crt`` should hold, and which ClusterTrustBundles there should be."""

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
#: Issues nothing: its bundle tells what certificates of API servers are verified with.
SIGNER: Final = "kubernetes.io/kube-apiserver-serving"
#: Of the hash in a bundle's name.
_HASH_BYTES: Final = 12
_DESCRIPTION: Final = "kubernetes.io/description"
#: Part of the API: clients see it.
_DESCRIBED: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


def takes_one(namespace: Namespace | None) -> bool:
    """Whether a namespace is to have one: one that is ending does not take new objects."""
    return namespace is not None and (namespace.status is None or namespace.status.phase != "Terminating")


def wanted(namespace: str, root_ca: str) -> ConfigMap:
    """As it is created."""
    metadata = ObjectMeta(name=NAME, namespace=namespace, annotations={_DESCRIPTION: _DESCRIBED})
    return ConfigMap(metadata=metadata, data={"ca.crt": root_ca})


def corrected(present: ConfigMap, root_ca: str) -> ConfigMap | None:
    """``present`` with the data put right; None where it is right."""
    data = {"ca.crt": root_ca}
    if present.data == data and annotations_of(present).get(_DESCRIPTION):
        return None
    annotations = {**annotations_of(present), _DESCRIPTION: _DESCRIBED}
    return msgspec.structs.replace(with_metadata(present, annotations=annotations), data=data)


@dataclass(frozen=True, slots=True)
class Bundles:
    """What is to be done about the signer's bundles."""

    create: ClusterTrustBundle | None = None
    update: ClusterTrustBundle | None = None
    delete: tuple[ClusterTrustBundle, ...] = ()


def bundle_name(bundle: str) -> str:
    """Another bundle has another name, so that a new one is there before the old one goes."""
    digest = sha256(bundle.encode()).digest()[:_HASH_BYTES].hex()
    return f"{SIGNER.replace('/', ':')}:{digest}"


def plan_bundles(present: Iterable[ClusterTrustBundle], bundle: str) -> Bundles:
    """``present``: all of the signer. One is right, and no other stays."""
    name = bundle_name(bundle)
    by_name = {name_of(each): each for each in present}
    right = by_name.pop(name, None)
    obsolete = tuple(by_name.values())
    spec = ClusterTrustBundleSpec(signerName=SIGNER, trustBundle=bundle)
    if right is None:
        return Bundles(create=ClusterTrustBundle(metadata=ObjectMeta(name=name), spec=spec), delete=obsolete)
    if right.spec.trustBundle != bundle:
        return Bundles(update=msgspec.structs.replace(right, spec=spec), delete=obsolete)
    return Bundles(delete=obsolete)
