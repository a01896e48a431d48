"""Profiles made of their settings: which rules there are, in which order, and with which weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.scheduler.cycle import Profile
from steersman.scheduler.plugins.declared_features import NodeDeclaredFeatures
from steersman.scheduler.plugins.image_locality import ImageLocality
from steersman.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from steersman.scheduler.plugins.node_resources import NodeResourcesBalancedAllocation, NodeResourcesFit
from steersman.scheduler.plugins.placement import NodeAffinity, NodeName, NodePorts, NodeUnschedulable, TaintToleration
from steersman.scheduler.plugins.topology_spread import PodTopologySpread
from steersman.scheduler.plugins.volume_rules import NodeVolumeLimits, VolumeRestrictions, VolumeZone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.scheduler.configuration.settings import ProfileSettings
    from steersman.scheduler.framework import LocalPlugin, Plugin
    from steersman.scheduler.plugins.dynamic_resources import DynamicResources
    from steersman.scheduler.plugins.volume_binding import VolumeBinding
    from steersman.scheduler.volumes import Catalog
    from steersman.scheduler.workloads import Workloads

_FILTER: Final = "filter"
_SCORE: Final = "score"


def make_profile(
    settings: ProfileSettings,
    *,
    catalog: Catalog,
    workloads: Workloads,
    volume_binding: VolumeBinding,
    devices: DynamicResources,
) -> Profile:
    """What several profiles share (the catalogs, and the rules that reserve) is handed in."""
    args, plugins = settings.args, settings.plugins
    local: Mapping[str, Callable[[], LocalPlugin]] = {
        "NodeUnschedulable": NodeUnschedulable,
        "NodeName": NodeName,
        "TaintToleration": TaintToleration,
        "NodeAffinity": lambda: NodeAffinity(args["NodeAffinity"]),
        "NodePorts": NodePorts,
        "NodeResourcesFit": lambda: NodeResourcesFit(args["NodeResourcesFit"], devices.in_place_of_resources),
        "NodeResourcesBalancedAllocation": lambda: NodeResourcesBalancedAllocation(
            args["NodeResourcesBalancedAllocation"]
        ),
        "NodeDeclaredFeatures": NodeDeclaredFeatures,
    }
    others: Mapping[str, Callable[[], Plugin]] = {
        "VolumeRestrictions": lambda: VolumeRestrictions(catalog),
        "NodeVolumeLimits": lambda: NodeVolumeLimits(catalog),
        "VolumeBinding": lambda: volume_binding,
        "VolumeZone": lambda: VolumeZone(catalog),
        "PodTopologySpread": lambda: PodTopologySpread(workloads, args["PodTopologySpread"]),
        "InterPodAffinity": lambda: InterPodAffinity(args["InterPodAffinity"]),
        "DynamicResources": lambda: devices,
        "ImageLocality": ImageLocality,
    }
    made_locals = {name: make() for name, make in local.items()}
    made_others = {name: make() for name, make in others.items()}
    filters, likings, weights = plugins.points[_FILTER], plugins.points[_SCORE], plugins.weights
    return Profile(
        filters=[made_locals[name] for name in filters if name in made_locals],
        scorers=[(made_locals[name], weights[name]) for name in likings if name in made_locals],
        checks=[made_others[name] for name in filters if name in made_others],
        likings=[(made_others[name], weights[name]) for name in likings if name in made_others],
        settings=settings,
    )
