"""The plugins, their extension points, and the resolution of a profile's enabled and disabled plugins.

Upstream: ``mergePlugins`` and ``expandMultiPointPlugins`` (KEP-2891): ``multiPoint`` is merged with the default one; an
entry of a single extension point takes precedence there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    Tree = Mapping[str, Any]

MULTI_POINT: Final = "multiPoint"
#: Extension points in the order in which upstream's framework fills them.
POINTS: Final = (
    "preFilter", "filter", "postFilter", "reserve", "preScore", "score", "preBind", "bind", "postBind", "permit",
    "preEnqueue", "queueSort",
)  # fmt: skip
_FILTERING: Final = ("preFilter", "filter")
_SCORING: Final = ("preScore", "score")

#: Extension points by plugin.
PLUGINS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(points)
    for name, points in {
        "SchedulingGates": ("preEnqueue",),
        "PrioritySort": ("queueSort",),
        "NodeUnschedulable": ("filter",),
        "NodeName": ("filter",),
        "TaintToleration": ("filter", *_SCORING),
        "NodeAffinity": (*_FILTERING, *_SCORING),
        "NodePorts": _FILTERING,
        "NodeResourcesFit": (*_FILTERING, *_SCORING),
        "VolumeRestrictions": _FILTERING,
        "NodeVolumeLimits": _FILTERING,
        "VolumeBinding": (*_FILTERING, *_SCORING, "reserve", "preBind"),
        "VolumeZone": _FILTERING,
        "PodTopologySpread": (*_FILTERING, *_SCORING),
        "InterPodAffinity": (*_FILTERING, *_SCORING),
        "DynamicResources": ("preEnqueue", *_FILTERING, "postFilter", "score", "reserve", "preBind"),
        "NodeDeclaredFeatures": _FILTERING,
        "DefaultPreemption": ("preEnqueue", "postFilter"),
        "NodeResourcesBalancedAllocation": _SCORING,
        "ImageLocality": ("score",),
        "DefaultBinder": ("bind",),
    }.items()
}
#: Default score weights other than 1.
_WEIGHTS: Final = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
}


class PluginSetError(ValueError):
    """Invalid plugin sets; the message is upstream's."""


class EnabledPlugins(NamedTuple):
    """Enabled plugins by extension point, in order, and score weights."""

    points: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, int]

    def has(self, point: str, name: str) -> bool:
        """Report whether a plugin is enabled at an extension point."""
        return name in self.points[point]


def resolve_plugins(
    plugins: Tree | None, *, scheduler_name: str = "", out_of_tree: Mapping[str, frozenset[str]] | None = None
) -> EnabledPlugins:
    """Resolve a profile's ``plugins``; None gives the defaults. ``out_of_tree``: extension points of further plugins.

    Raises ``PluginSetError``.
    """
    points_by_plugin = {**PLUGINS, **(out_of_tree or {})}
    configured = plugins or {}
    multi = merge_plugins(configured.get(MULTI_POINT) or {})
    sets = {point: configured.get(point) or {} for point in POINTS}
    for point, plugin_set in sets.items():
        _check_single(point, plugin_set, points_by_plugin)
    names = [plugin["name"] for plugin in multi]
    points = {
        point: tuple(_plugins_at(point, plugin_set, names, points_by_plugin)) for point, plugin_set in sets.items()
    }
    count = len(points["queueSort"])
    if count != 1:
        raise PluginSetError(
            f"only one queue sort plugin required for profile with scheduler name {quote(scheduler_name)}, but got {count}"
        )
    if not points["bind"]:
        raise PluginSetError(
            f"at least one bind plugin is needed for profile with scheduler name {quote(scheduler_name)}"
        )
    weights: dict[str, int] = {}
    for plugin in (*(sets["score"].get("enabled") or ()), *multi):
        weights.setdefault(plugin["name"], plugin.get("weight") or 1)
    return EnabledPlugins(points, weights)


def merge_plugins(custom: Tree) -> list[Tree]:
    """Merge ``multiPoint`` with the default plugins: reconfigured ones keep their position, new ones follow."""
    disabled = _names(custom.get("disabled"))
    enabled: list[Tree] = list(custom.get("enabled") or ())
    latest = {plugin["name"]: number for number, plugin in enumerate(enabled)}
    replacing: set[int] = set()
    plugins: list[Tree] = []
    for name in () if "*" in disabled else PLUGINS:
        if name in disabled:
            continue
        if name in latest:
            replacing.add(latest[name])
            plugins.append(enabled[latest[name]])
        else:
            plugins.append({"name": name, "weight": _WEIGHTS.get(name, 1)})
    return plugins + [plugin for number, plugin in enumerate(enabled) if number not in replacing]


def _check_single(point: str, plugin_set: Tree, points_by_plugin: Mapping[str, frozenset[str]]) -> None:
    seen: set[str] = set()
    for plugin in plugin_set.get("enabled") or ():
        name = plugin["name"]
        _require_known(point, name, points_by_plugin)
        if point not in points_by_plugin[name]:
            raise PluginSetError(f"plugin {quote(name)} does not extend {_go_name(point)} plugin")
        if name in seen:
            raise PluginSetError(f"plugin {quote(name)} already registered as {quote(_go_name(point))}")
        seen.add(name)


def _plugins_at(
    point: str, plugin_set: Tree, multi: Iterable[str], points_by_plugin: Mapping[str, frozenset[str]]
) -> list[str]:
    """Return the plugins of one extension point: explicit ones that override ``multiPoint``, the rest of
    ``multiPoint``, other explicit ones.
    """
    explicit = [plugin["name"] for plugin in plugin_set.get("enabled") or ()]
    disabled = _names(plugin_set.get("disabled"))
    if "*" in disabled:
        return explicit
    overriding: set[str] = set()
    general: list[str] = []
    for name in multi:
        _require_known(point, name, points_by_plugin)
        if point not in points_by_plugin[name] or name in disabled:
            continue
        if name in explicit:
            overriding.add(name)
        elif name in general:
            raise PluginSetError(f"plugin {quote(name)} already registered as {quote(_go_name(point))}")
        else:
            general.append(name)
    first = [name for name in explicit if name in overriding]
    return [*first, *general, *(name for name in explicit if name not in overriding)]


def _require_known(point: str, name: str, points_by_plugin: Collection[str]) -> None:
    if name not in points_by_plugin:
        raise PluginSetError(f"{_go_name(point)} {quote(name)} does not exist")


def _names(plugins: Iterable[Tree] | None) -> set[str]:
    return {plugin["name"] for plugin in plugins or ()}


def _go_name(point: str) -> str:
    """Return the name of the extension point's Go interface."""
    return f"{point[0].upper()}{point[1:]}Plugin"
