"""Strategies of the core group: one module a kind, ``service_*`` for what Services need besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.registry.core.componentstatus import ComponentStatusStrategy
from steersman.apiserver.registry.core.configmap import ConfigMapStrategy
from steersman.apiserver.registry.core.endpoints import EndpointsStrategy
from steersman.apiserver.registry.core.event import EventStrategy
from steersman.apiserver.registry.core.limitrange import LimitRangeStrategy
from steersman.apiserver.registry.core.namespace import NamespaceStrategy
from steersman.apiserver.registry.core.node import NodeStrategy
from steersman.apiserver.registry.core.persistentvolume import PersistentVolumeStrategy
from steersman.apiserver.registry.core.persistentvolumeclaim import PersistentVolumeClaimStrategy
from steersman.apiserver.registry.core.pod import PodStrategy
from steersman.apiserver.registry.core.podtemplate import PodTemplateStrategy
from steersman.apiserver.registry.core.replicationcontroller import ReplicationControllerStrategy
from steersman.apiserver.registry.core.resourcequota import ResourceQuotaStrategy
from steersman.apiserver.registry.core.secret import SecretStrategy
from steersman.apiserver.registry.core.service import ServiceStrategy
from steersman.apiserver.registry.core.serviceaccount import ServiceAccountStrategy

if TYPE_CHECKING:
    from steersman.apiserver.registry.core.service_allocation import ServiceAllocator
    from steersman.apiserver.registry.strategy import Strategy


def build(services: ServiceAllocator) -> tuple[Strategy, ...]:
    """The strategies of all kinds of the group; ``services`` hands out cluster IPs and node ports."""
    plain = (
        ComponentStatusStrategy,
        ConfigMapStrategy,
        EndpointsStrategy,
        EventStrategy,
        LimitRangeStrategy,
        NamespaceStrategy,
        NodeStrategy,
        PersistentVolumeStrategy,
        PersistentVolumeClaimStrategy,
        PodStrategy,
        PodTemplateStrategy,
        ReplicationControllerStrategy,
        ResourceQuotaStrategy,
        SecretStrategy,
        ServiceAccountStrategy,
    )
    return (*(strategy() for strategy in plain), ServiceStrategy(services))
