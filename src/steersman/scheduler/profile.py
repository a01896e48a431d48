"""Construction of profiles from their settings: plugin instances, order and weights."""

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
    from steersman.scheduler.out_of_tree.runtime import PluginRuntime
    from steersman.scheduler.plugins.dynamic_resources import DynamicResources
    from steersman.scheduler.plugins.volume_binding import VolumeBinding
    from steersman.scheduler.volumes import VolumeCatalog
    from steersman.scheduler.workloads import Workloads

_FILTER: Final = "filter"
_SCORE: Final = "score"


def make_profile(
    settings: ProfileSettings,
    *,
    catalog: VolumeCatalog,
    workloads: Workloads,
    volume_binding: VolumeBinding,
    devices: DynamicResources,
    runtime: PluginRuntime | None = None,
) -> Profile:
    """Build a profile. Catalogs and plugins with Reserve state are shared by all profiles and passed in.

    ``runtime``: that of the out-of-tree plugins, whose filters run after those in tree that read one node only.
    """
    args, plugins = settings.args, settings.plugins
    local_factories: Mapping[str, Callable[[], LocalPlugin]] = {
        "NodeUnschedulable": NodeUnschedulable,
        "NodeName": NodeName,
        "TaintToleration": TaintToleration,
        "NodeAffinity": lambda: NodeAffinity(args["NodeAffinity"]),
        "NodePorts": NodePorts,
        "NodeResourcesFit": lambda: NodeResourcesFit(args["NodeResourcesFit"], devices.extended_resources),
        "NodeResourcesBalancedAllocation": lambda: NodeResourcesBalancedAllocation(
            args["NodeResourcesBalancedAllocation"]
        ),
        "NodeDeclaredFeatures": NodeDeclaredFeatures,
    }
    cluster_factories: Mapping[str, Callable[[], Plugin]] = {
        "VolumeRestrictions": lambda: VolumeRestrictions(catalog),
        "NodeVolumeLimits": lambda: NodeVolumeLimits(catalog),
        "VolumeBinding": lambda: volume_binding,
        "VolumeZone": lambda: VolumeZone(catalog),
        "PodTopologySpread": lambda: PodTopologySpread(workloads, args["PodTopologySpread"]),
        "InterPodAffinity": lambda: InterPodAffinity(args["InterPodAffinity"]),
        "DynamicResources": lambda: devices,
        "ImageLocality": ImageLocality,
    }
    local_plugins = {name: make() for name, make in local_factories.items()}
    cluster_plugins = {name: make() for name, make in cluster_factories.items()}
    filters, scorers, weights = plugins.points[_FILTER], plugins.points[_SCORE], plugins.weights
    if runtime is not None:
        adapters, filter_names, score_names = runtime.adapters()
        cluster_plugins.update(adapters)
        # A plugin may have PreFilter without Filter, and PreScore without Score.
        filters, scorers = (
            tuple(dict.fromkeys((*filters, *filter_names))),
            tuple(dict.fromkeys((*scorers, *score_names))),
        )
    return Profile(
        local_filters=[local_plugins[name] for name in filters if name in local_plugins],
        local_score_plugins=[(local_plugins[name], weights[name]) for name in scorers if name in local_plugins],
        filter_plugins=[cluster_plugins[name] for name in filters if name in cluster_plugins],
        score_plugins=[(cluster_plugins[name], weights.get(name, 1)) for name in scorers if name in cluster_plugins],
        settings=settings,
        runtime=runtime,
    )
