"""Which plugins there are, where they take part, and what a profile's enabling and disabling of them comes to.

Rules of upstream's ``mergePlugins`` and ``expandMultiPointPlugins`` (KEP-2891): a profile's ``multiPoint`` is laid over the
default one; what stands under a single extension point takes precedence there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Tree = Mapping[str, Any]

MULTI_POINT: Final = "multiPoint"
#: In the order in which a framework fills them.
POINTS: Final = (
    "preFilter", "filter", "postFilter", "reserve", "preScore", "score", "preBind", "bind", "postBind", "permit",
    "preEnqueue", "queueSort",
)  # fmt: skip
_FILTERING: Final = ("preFilter", "filter")
_SCORING: Final = ("preScore", "score")

#: Where each plugin can take part.
KNOWN: Final[dict[str, frozenset[str]]] = {
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
#: Those whose liking counts for more than one; all others for one.
_WEIGHTS: Final = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
}


class PluginSetError(ValueError):
    """No scheduler can be made of such plugins; the message is upstream's."""


class Enabled(NamedTuple):
    """Names of the plugins at each extension point, in the order in which they are asked, and the weights of likings."""

    points: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, int]

    def has(self, point: str, name: str) -> bool:
        """Whether a plugin takes part there."""
        return name in self.points[point]


def expand(plugins: Tree | None, *, scheduler_name: str = "") -> Enabled:
    """What a profile's ``plugins`` come to; None: the defaults. Raises ``PluginSetError``."""
    said = plugins or {}
    multi = _merged(said.get(MULTI_POINT) or {})
    sets = {point: said.get(point) or {} for point in POINTS}
    for point, plugin_set in sets.items():
        _check_single(point, plugin_set)
    names = [plugin["name"] for plugin in multi]
    points = {point: tuple(_at(point, plugin_set, names)) for point, plugin_set in sets.items()}
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
    return Enabled(points, weights)


def _merged(custom: Tree) -> list[Tree]:
    """The default plugins without those disabled, reconfigured ones in their old place, new ones at the end."""
    disabled = _names(custom.get("disabled"))
    enabled: list[Tree] = list(custom.get("enabled") or ())
    latest = {plugin["name"]: number for number, plugin in enumerate(enabled)}
    replacing: set[int] = set()
    found: list[Tree] = []
    for name in () if "*" in disabled else KNOWN:
        if name in disabled:
            continue
        if name in latest:
            replacing.add(latest[name])
            found.append(enabled[latest[name]])
        else:
            found.append({"name": name, "weight": _WEIGHTS.get(name, 1)})
    return found + [plugin for number, plugin in enumerate(enabled) if number not in replacing]


def _check_single(point: str, plugin_set: Tree) -> None:
    seen: set[str] = set()
    for plugin in plugin_set.get("enabled") or ():
        name = plugin["name"]
        _require_known(point, name)
        if point not in KNOWN[name]:
            raise PluginSetError(f"plugin {quote(name)} does not extend {_go_name(point)} plugin")
        if name in seen:
            raise PluginSetError(f"plugin {quote(name)} already registered as {quote(_go_name(point))}")
        seen.add(name)


def _at(point: str, plugin_set: Tree, multi: Iterable[str]) -> list[str]:
    """Plugins of one extension point: explicit ones that are in ``multiPoint`` too, the rest of that, other explicit ones."""
    explicit = [plugin["name"] for plugin in plugin_set.get("enabled") or ()]
    disabled = _names(plugin_set.get("disabled"))
    if "*" in disabled:
        return explicit
    overriding: set[str] = set()
    general: list[str] = []
    for name in multi:
        _require_known(point, name)
        if point not in KNOWN[name] or name in disabled:
            continue
        if name in explicit:
            overriding.add(name)
        elif name in general:
            raise PluginSetError(f"plugin {quote(name)} already registered as {quote(_go_name(point))}")
        else:
            general.append(name)
    first = [name for name in explicit if name in overriding]
    return [*first, *general, *(name for name in explicit if name not in overriding)]


def _require_known(point: str, name: str) -> None:
    if name not in KNOWN:
        raise PluginSetError(f"{_go_name(point)} {quote(name)} does not exist")


def _names(plugins: Iterable[Tree] | None) -> set[str]:
    return {plugin["name"] for plugin in plugins or ()}


def _go_name(point: str) -> str:
    """What the interface is called that plugins of the point implement."""
    return f"{point[0].upper()}{point[1:]}Plugin"
