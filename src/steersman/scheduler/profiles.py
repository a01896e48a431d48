"""The default profile: upstream's rules, order and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.scheduler.cycle import Profile
from steersman.scheduler.plugins.image_locality import ImageLocality
from steersman.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from steersman.scheduler.plugins.node_resources import NodeResourcesBalancedAllocation, NodeResourcesFit
from steersman.scheduler.plugins.placement import NodeAffinity, NodeName, NodePorts, NodeUnschedulable, TaintToleration
from steersman.scheduler.plugins.topology_spread import PodTopologySpread
from steersman.scheduler.plugins.volume_rules import NodeVolumeLimits, VolumeRestrictions, VolumeZone

if TYPE_CHECKING:
    from steersman.scheduler.plugins.dynamic_resources import DynamicResources
    from steersman.scheduler.plugins.volume_binding import VolumeBinding
    from steersman.scheduler.volumes import Catalog
    from steersman.scheduler.workloads import Workloads


def default_profile(
    catalog: Catalog, workloads: Workloads, volume_binding: VolumeBinding, devices: DynamicResources
) -> Profile:
    """Each rule with the weight of its liking; 0: it has none."""
    return Profile(
        local=[
            (NodeUnschedulable(), 0),
            (NodeName(), 0),
            (TaintToleration(), 3),
            (NodeAffinity(), 2),
            (NodePorts(), 0),
            (NodeResourcesFit(), 1),
            (NodeResourcesBalancedAllocation(), 1),
        ],
        others=[
            (VolumeRestrictions(catalog), 0),
            (NodeVolumeLimits(catalog), 0),
            (volume_binding, 0),
            (VolumeZone(catalog), 0),
            (PodTopologySpread(workloads), 2),
            (InterPodAffinity(), 2),
            (devices, 2),
            (ImageLocality(), 1),
        ],
    )
