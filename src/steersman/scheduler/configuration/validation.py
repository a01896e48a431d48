"""Validation of configurations, with upstream's messages (``ValidateKubeSchedulerConfiguration``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.field import Path
from steersman.apimachinery.gotext import quote
from steersman.scheduler.configuration.extenders import check_extenders
from steersman.scheduler.configuration.model import API_VERSION
from steersman.scheduler.configuration.plugin_args import WITH_ARGS, check_args, seconds_of
from steersman.scheduler.configuration.plugin_sets import PLUGINS, POINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree


#: Removed plugins.
_REMOVED: Final = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
_REMOVED_SINCE: Final = "v1"
_PERIODS: Final = ("leaseDuration", "renewDeadline", "retryPeriod")


def check_configuration(tree: Tree, out_of_tree: Mapping[str, Any]) -> Iterator[FieldError]:
    """Validate a configuration that has its defaults. ``out_of_tree``: further plugins by name."""
    connection = tree["clientConnection"]
    if connection["burst"] < 0:
        yield field.invalid(Path("clientConnection", "burst"), connection["burst"], "must be non-negative")
    if tree["leaderElection"]["leaderElect"]:
        yield from _check_election(tree["leaderElection"], Path("leaderElection"))
    if tree["parallelism"] <= 0:
        detail = "should be an integer value greater than zero"
        yield field.invalid(Path("parallelism"), tree["parallelism"], detail)
    yield from _check_profiles(tree["profiles"], Path("profiles"), out_of_tree)
    yield from _check_share(tree, Path("percentageOfNodesToScore"))
    first, longest = tree["podInitialBackoffSeconds"], tree["podMaxBackoffSeconds"]
    if first <= 0:
        yield field.invalid(Path("podInitialBackoffSeconds"), first, "must be greater than 0")
    if longest < first:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        yield field.invalid(Path("podMaxBackoffSeconds"), longest, detail)
    yield from check_extenders(tree.get("extenders") or (), Path("extenders"))


def _check_election(election: Tree, path: Path) -> Iterator[FieldError]:
    seconds: dict[str, float] = {}
    for name in _PERIODS:
        seconds[name], fault = seconds_of(election[name])
        if fault or seconds[name] <= 0:
            yield field.invalid(path.child(name), election[name], fault or "must be greater than zero")
    if seconds["leaseDuration"] < seconds["renewDeadline"]:
        detail = "LeaseDuration must be greater than RenewDeadline"
        yield field.invalid(path.child("leaseDuration"), election["renewDeadline"], detail)
    if election["resourceLock"] != "leases":
        detail = 'resourceLock value must be "leases"'
        yield field.invalid(path.child("resourceLock"), election["resourceLock"], detail)


def _check_share(tree: Tree, path: Path) -> Iterator[FieldError]:
    share = tree.get("percentageOfNodesToScore")
    if share is not None and not 0 <= share <= 100:
        yield field.invalid(path, share, "not in valid range [0-100]")


def _check_profiles(profiles: Sequence[Tree], path: Path, out_of_tree: Mapping[str, Any]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, profile in enumerate(profiles):
        profile_path, name = path.index(number), profile.get("schedulerName") or ""
        if not name:
            yield field.required(profile_path.child("schedulerName"))
        yield from _check_share(profile, profile_path.child("percentageOfNodesToScore"))
        yield from _check_plugins(profile.get("plugins") or {}, profile_path.child("plugins"))
        yield from _check_plugin_configs(
            profile.get("pluginConfig") or (), profile_path.child("pluginConfig"), out_of_tree
        )
        if name in seen:
            yield field.duplicate(profile_path.child("schedulerName"), name)
        seen.add(name)
    yield from _check_common_queue_sort(profiles, path)


def _check_common_queue_sort(profiles: Sequence[Tree], path: Path) -> Iterator[FieldError]:
    """Reject different QueueSort plugins: all profiles share the queue. Upstream: ``validateCommonQueueSort``."""
    sets = [(profile.get("plugins") or {}).get("queueSort") or {} for profile in profiles]
    for number, plugin_set in enumerate(sets):
        if plugin_set != sets[0]:
            queue_sort_path = path.index(number).child("plugins", "queueSort")
            yield field.invalid(queue_sort_path, plugin_set, "must be the same for all profiles")


def _check_plugins(plugins: Tree, path: Path) -> Iterator[FieldError]:
    for point in POINTS:
        for number, plugin in enumerate((plugins.get(point) or {}).get("enabled") or ()):
            if plugin["name"] in _REMOVED:
                yield _removed(path.child(point, "enabled").index(number), plugin["name"])


def _removed(path: Path, name: str) -> FieldError:
    since, version = quote(_REMOVED_SINCE), quote(API_VERSION)
    return field.invalid(
        path, name, f"was invalid in version {since} (KubeSchedulerConfiguration is version {version})"
    )


def _check_plugin_configs(configs: Sequence[Tree], path: Path, out_of_tree: Mapping[str, Any]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, config in enumerate(configs):
        item_path, name = path.index(number), config["name"]
        if name in seen:
            yield field.duplicate(item_path, name)
        seen.add(name)
        if name in _REMOVED:
            yield _removed(item_path, name)
        elif name in out_of_tree:
            yield from _check_plugin_args(out_of_tree[name], config["args"], item_path.child("args"))
        elif name not in PLUGINS:
            yield field.not_supported(item_path.child("name"), name, sorted([*PLUGINS, *out_of_tree]))
        elif name in WITH_ARGS:
            yield from check_args(name, config["args"], item_path.child("args"))


def _check_plugin_args(plugin: Any, args: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the arguments of an out-of-tree plugin."""
    from steersman.scheduler.out_of_tree.registry import convert_args  # noqa: PLC0415 — few have such plugins

    try:
        convert_args(plugin, args)
    except ValueError as error:
        yield field.invalid(path, args, str(error))
