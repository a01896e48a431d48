"""Loading of a ``KubeSchedulerConfiguration`` file into settings and process options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from steersman.scheduler.configuration.errors import ConfigurationError
from steersman.scheduler.configuration.extenders import extender_settings, ignored_resources
from steersman.scheduler.configuration.model import API_VERSION, KIND, read_configuration
from steersman.scheduler.configuration.plugin_args import WITH_ARGS, default_args, seconds_of, with_defaults
from steersman.scheduler.configuration.plugin_sets import MULTI_POINT, PLUGINS, PluginSetError, resolve_plugins
from steersman.scheduler.configuration.settings import (
    BACKOFF_INITIAL_SECONDS,
    BACKOFF_MAX_SECONDS,
    ProfileSettings,
    Settings,
)
from steersman.scheduler.configuration.validation import check_configuration
from steersman.scheduler.pod_info import DEFAULT_SCHEDULER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from steersman.apimachinery.trees import Tree

_PARALLELISM: Final = 16
_ELECTION: Final = {
    "leaderElect": True,
    "leaseDuration": "15s",
    "renewDeadline": "10s",
    "retryPeriod": "2s",
    "resourceLock": "leases",
    "resourceName": "kube-scheduler",
    "resourceNamespace": "kube-system",
}
#: Unlike upstream's 50 QPS, the default has no client-side rate limit: API priority and fairness limits the scheduler.
_CONNECTION: Final = {"kubeconfig": "", "qps": 0, "burst": 100}


class LoadedConfiguration(NamedTuple):
    """A loaded configuration."""

    settings: Settings
    #: Fields of ``SchedulerOptions`` set by the file.
    options: dict[str, Any]
    #: The configuration with its defaults.
    tree: Tree


def read(path: Path) -> LoadedConfiguration:
    """Load a file, and the out-of-tree plugins that it names. Raises ``ConfigurationError`` with the path in the message."""
    try:
        configuration = parse_configuration(path.read_bytes(), find_plugins=_installed)
        if configuration.settings.extenders:
            from steersman.scheduler.extenders.http_extender import check_tls  # noqa: PLC0415 — few have extenders

            check_tls(configuration.settings.extenders)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    return configuration


def with_plugins(plugins: Mapping[str, Any], configuration: Tree | None = None) -> LoadedConfiguration:
    """Return a configuration with these out-of-tree plugins; without a ``configuration`` the default profile enables
    them at all their extension points. Raises ``ConfigurationError``.
    """
    from steersman.scheduler.out_of_tree.registry import check_plugins  # noqa: PLC0415 — few have such plugins

    check_plugins(plugins)
    if configuration is None:
        enabled = {"enabled": [{"name": name} for name in plugins]}
        configuration = {"profiles": [{"plugins": {MULTI_POINT: enabled}}]}
    tree = {"apiVersion": API_VERSION, "kind": KIND, **configuration}
    return parse_configuration(msgspec.json.encode(tree), find_plugins=lambda _: plugins)


def _installed(names: Collection[str]) -> Mapping[str, Any]:
    from steersman.scheduler.out_of_tree.registry import load_installed  # noqa: PLC0415 — few have such plugins

    return load_installed(names)


def parse_configuration(
    raw: bytes, *, find_plugins: Callable[[Collection[str]], Mapping[str, Any]] = lambda _: {}
) -> LoadedConfiguration:
    """Decode, default and validate a configuration. Raises ``ConfigurationError`` with all validation errors.

    ``find_plugins`` returns the classes of out-of-tree plugins among the names that no plugin in tree has.
    """
    decoded = read_configuration(raw)
    unknown = _plugin_names(decoded) - PLUGINS.keys()
    out_of_tree = find_plugins(unknown) if unknown else {}
    tree = complete(decoded)
    errors = list(dict.fromkeys(map(str, check_configuration(tree, out_of_tree))))
    if errors:
        raise ConfigurationError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    extenders = tree.get("extenders") or ()
    settings = Settings(
        profiles=tuple(
            _profile(profile, tree["percentageOfNodesToScore"], ignored_resources(extenders), out_of_tree)
            for profile in tree["profiles"]
        ),
        extenders=tuple(map(extender_settings, extenders)),
        plugins=out_of_tree,
        pod_initial_backoff_seconds=float(tree["podInitialBackoffSeconds"]),
        pod_max_backoff_seconds=float(tree["podMaxBackoffSeconds"]),
    )
    return LoadedConfiguration(settings, _options(tree["leaderElection"], tree["clientConnection"]), tree)


def complete(tree: Tree) -> Tree:
    """Return a decoded configuration with its defaults."""
    profiles = tree.get("profiles") or [{}]
    if len(profiles) == 1:
        profiles = [{"schedulerName": DEFAULT_SCHEDULER, **profiles[0]}]
    for profile in profiles:
        for config in profile.get("pluginConfig") or ():
            if config["name"] in WITH_ARGS:
                config["args"] = with_defaults(config["name"], config["args"])
    return {
        "parallelism": _PARALLELISM,
        "percentageOfNodesToScore": 0,
        "podInitialBackoffSeconds": int(BACKOFF_INITIAL_SECONDS),
        "podMaxBackoffSeconds": int(BACKOFF_MAX_SECONDS),
        **tree,
        "leaderElection": _with_zero_defaults(_ELECTION, tree.get("leaderElection")),
        "clientConnection": _with_zero_defaults(_CONNECTION, tree.get("clientConnection")),
        "profiles": profiles,
    }


def _with_zero_defaults(defaults: Tree, configured: Tree | None) -> Tree:
    """Apply defaults to empty and zero values; false is kept."""
    values = {name: value for name, value in (configured or {}).items() if value or value is False}
    return {**defaults, **values}


def _plugin_names(tree: Tree) -> set[str]:
    """Return the names of all plugins that a configuration enables or configures."""
    names: set[str] = set()
    for profile in tree.get("profiles") or ():
        sets = [plugin_set for plugin_set in (profile.get("plugins") or {}).values() if plugin_set]
        entries = [entry for plugin_set in sets for entry in plugin_set.get("enabled") or ()]
        names.update(entry["name"] for entry in (*entries, *(profile.get("pluginConfig") or ())))
    return names


def _profile(profile: Tree, share: int, ignored: Sequence[str], out_of_tree: Mapping[str, Any]) -> ProfileSettings:
    """Return the settings of a profile. ``ignored``: resources that NodeResourcesFit ignores for extenders."""
    name = profile["schedulerName"]
    args = {
        **default_args(),
        **{plugin_config["name"]: plugin_config["args"] for plugin_config in profile.get("pluginConfig") or ()},
    }
    if ignored:
        fit = args["NodeResourcesFit"]
        args["NodeResourcesFit"] = {**fit, "ignoredResources": [*(fit.get("ignoredResources") or ()), *ignored]}
    try:
        plugins = resolve_plugins(profile.get("plugins"), scheduler_name=name, out_of_tree=_points(out_of_tree))
    except PluginSetError as error:
        raise ConfigurationError(
            f"initializing profiles: creating profile for scheduler name {name}: {error}"
        ) from None
    return ProfileSettings(
        scheduler_name=name,
        percentage_of_nodes_to_score=profile.get("percentageOfNodesToScore", share),
        plugins=plugins,
        args=args,
    )


def _points(out_of_tree: Mapping[str, Any]) -> Mapping[str, frozenset[str]]:
    """Return the extension points of out-of-tree plugins."""
    if not out_of_tree:
        return {}
    from steersman.scheduler.out_of_tree.registry import extension_points  # noqa: PLC0415 — few have such plugins

    return {name: extension_points(plugin) for name, plugin in out_of_tree.items()}


def _options(election: Tree, connection: Tree) -> dict[str, Any]:
    options: dict[str, Any] = {
        "leader_elect": election["leaderElect"],
        "leader_elect_lease_duration_seconds": seconds_of(election["leaseDuration"])[0],
        "leader_elect_renew_deadline_seconds": seconds_of(election["renewDeadline"])[0],
        "leader_elect_retry_period_seconds": seconds_of(election["retryPeriod"])[0],
        "leader_elect_resource_name": election["resourceName"],
        "leader_elect_resource_namespace": election["resourceNamespace"],
        "kube_api_qps": max(0.0, float(connection["qps"])),
        "kube_api_burst": connection["burst"],
    }
    if connection["kubeconfig"]:
        options["kubeconfig"] = Path(connection["kubeconfig"]).expanduser()
    return options
