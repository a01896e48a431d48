"""What a namespace's ``kube-root-ca.crt`` should hold, and whether it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from lightkube.models.core_v1 import ConfigMap
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client.objects import annotations_of
from steersman.runtime.structs import with_metadata

if TYPE_CHECKING:
    from lightkube.models.core_v1 import Namespace

NAME: Final = "kube-root-ca.crt"
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
