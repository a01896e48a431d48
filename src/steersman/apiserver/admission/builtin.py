"""Built-in plugins that are enabled by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from steersman.apiserver.admission.claim_resize import PersistentVolumeClaimResize
from steersman.apiserver.admission.default_ingress_class import DefaultIngressClass
from steersman.apiserver.admission.default_storage_class import DefaultStorageClass
from steersman.apiserver.admission.default_tolerations import TOLERATION_SECONDS, DefaultTolerationSeconds
from steersman.apiserver.admission.limit_ranger import LimitRanger
from steersman.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from steersman.apiserver.admission.node_features import NodeDeclaredFeatureValidator
from steersman.apiserver.admission.pod_resize import PodResizeValidator
from steersman.apiserver.admission.pod_security import PodSecurity
from steersman.apiserver.admission.priority import Priority
from steersman.apiserver.admission.resource_quota import ResourceQuota
from steersman.apiserver.admission.runtime_class import RuntimeClass
from steersman.apiserver.admission.service_account import ServiceAccount
from steersman.apiserver.admission.storage_protection import StorageObjectInUseProtection
from steersman.apiserver.admission.taint_nodes import TaintNodesByCondition
from steersman.apiserver.admission.topology_labels import PodTopologyLabels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.names import Dice
    from steersman.apiserver.admission.interface import Plugin
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.registry import StoredResource
    from steersman.apiserver.generic.watch_cache import WatchCache


def default_plugins(
    stored: Callable[[str], StoredResource],
    *,
    authorizer: Authorizer,
    dice: Dice,
    configurations: Mapping[str, Any] | None = None,
    tolerations: tuple[int, int] = (TOLERATION_SECONDS, TOLERATION_SECONDS),
) -> tuple[Plugin, ...]:
    """Return new plugins; ``stored`` returns the storage of a resource by name (``nodes``,
    ``storageclasses.storage.k8s.io``).

    ``configurations``: plugin configurations by name; ``tolerations``: ``tolerationSeconds`` for Nodes that are not
    ready or unreachable. Raises ValueError.
    """

    def cache_of(group_resource: str) -> WatchCache:
        return stored(group_resource).cache

    return (
        NamespaceLifecycle(cache_of("namespaces")),
        LimitRanger(cache_of("limitranges")),
        ServiceAccount(cache_of("serviceaccounts"), dice=dice),
        TaintNodesByCondition(),
        PodSecurity(
            namespaces=cache_of("namespaces"),
            pods=cache_of("pods"),
            configuration=(configurations or {}).get("PodSecurity"),
        ),
        Priority(cache_of("priorityclasses.scheduling.k8s.io")),
        DefaultTolerationSeconds(*tolerations),
        DefaultStorageClass(cache_of("storageclasses.storage.k8s.io")),
        StorageObjectInUseProtection(),
        PersistentVolumeClaimResize(cache_of("storageclasses.storage.k8s.io")),
        RuntimeClass(cache_of("runtimeclasses.node.k8s.io")),
        CertificateApproval(authorizer),
        CertificateSigning(authorizer),
        CertificateSubjectRestriction(),
        DefaultIngressClass(cache_of("ingressclasses.networking.k8s.io")),
        PodTopologyLabels(cache_of("nodes")),
        NodeDeclaredFeatureValidator(cache_of("nodes")),
        PodResizeValidator(cache_of("nodes")),
        ResourceQuota(stored("resourcequotas"), configuration=(configurations or {}).get("ResourceQuota")),
    )
