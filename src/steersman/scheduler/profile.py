"""Profile: the plugins that schedule the pods of one scheduler name, created from its settings.

Upstream: pkg/scheduler/profile/profile.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.scheduler.node_results import NodeResultCache
from steersman.scheduler.plugins.declared_features import NodeDeclaredFeatures
from steersman.scheduler.plugins.image_locality import ImageLocality
from steersman.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from steersman.scheduler.plugins.node_resources import NodeResourcesBalancedAllocation, NodeResourcesFit
from steersman.scheduler.plugins.placement import NodeAffinity, NodeName, NodePorts, NodeUnschedulable, TaintToleration
from steersman.scheduler.plugins.topology_spread import PodTopologySpread
from steersman.scheduler.plugins.volume_rules import NodeVolumeLimits, VolumeRestrictions, VolumeZone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from steersman.scheduler.configuration.settings import ProfileSettings
    from steersman.scheduler.framework import LocalPlugin, Plugin, PodFilter, Rejection
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.out_of_tree.runtime import PluginRuntime
    from steersman.scheduler.plugins.dynamic_resources import DynamicResources
    from steersman.scheduler.plugins.volume_binding import VolumeBinding
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot
    from steersman.scheduler.volumes import VolumeCatalog
    from steersman.scheduler.workloads import Workloads

_FILTER: Final = "filter"
_SCORE: Final = "score"


class Profile:
    """The plugins for one scheduler name, in order, with their score weights.

    Plugins that depend on the pod and one node only (``LocalPlugin``) run before the others whatever the configured
    order, because their results are cached.
    """

    def __init__(
        self,
        *,
        local_filters: Sequence[LocalPlugin],
        local_score_plugins: Sequence[tuple[LocalPlugin, int]],
        filter_plugins: Sequence[Plugin],
        score_plugins: Sequence[tuple[Plugin, int]],
        settings: ProfileSettings,
        runtime: PluginRuntime | None = None,
    ) -> None:
        """``runtime``: that of the out-of-tree plugins, if there are any."""
        self.settings: Final = settings
        self.runtime: Final = runtime
        self.name: Final = settings.scheduler_name
        self.percentage_of_nodes: Final = settings.percentage_of_nodes_to_score
        #: True if only the nodes named by ``metadata.name`` affinity are evaluated (``PreFilterResult``).
        self.uses_prefilter_result: Final = settings.plugins.has("preFilter", "NodeAffinity")
        #: By name.
        self.local_filters: Final = {plugin.name: plugin for plugin in local_filters}
        self.node_results: Final = NodeResultCache(local_filters, [plugin for plugin, _ in local_score_plugins])
        self.local_score_plugins: Final = tuple(local_score_plugins)
        self.score_plugins: Final = tuple(score_plugins)
        self._filter_plugins: Final = tuple(filter_plugins)

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> list[PodFilter]:
        """Run the PreFilter plugins; return the filters that apply to the pod. Raises ``PreFilterRejection``."""
        prepared = (plugin.pre_filter(pod, cluster) for plugin in self._filter_plugins)
        return [pod_filter for pod_filter in prepared if pod_filter is not None]

    def filter(self, pod: PodInfo, node: NodeInfo, filters: Iterable[PodFilter]) -> Rejection | None:
        """Run all filters without the cache, for hypothetical states of a node; return the first rejection."""
        return self.node_results.filter(pod, node) or run_filters(filters, node)


def run_filters(filters: Iterable[PodFilter], node: NodeInfo) -> Rejection | None:
    """Return the first rejection of ``filters``, or None."""
    for pod_filter in filters:
        rejection = pod_filter(node)
        if rejection is not None:
            return rejection
    return None


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
