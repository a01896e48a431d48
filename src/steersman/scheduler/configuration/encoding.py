"""The completed configuration as a document, for ``--write-config-to``. Reading it gives the same settings.

Upstream: ``LogOrWriteConfig`` in cmd/kube-scheduler/app/options/configfile.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apimachinery.durations import format_duration
from steersman.apimachinery.yaml_codec import encode_yaml
from steersman.scheduler.configuration.loading import complete
from steersman.scheduler.configuration.model import API_VERSION, KIND
from steersman.scheduler.configuration.plugin_args import WITH_ARGS, default_args
from steersman.scheduler.configuration.plugin_sets import MULTI_POINT, POINTS, merge_plugins

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.scheduler.options import Setup


def encode_configuration(setup: Setup) -> bytes:
    """Return the YAML of a configuration with the defaults and the flags in effect."""
    tree = setup.configuration
    if tree is None:
        (profile,) = setup.settings.profiles
        share = profile.percentage_of_nodes_to_score
        tree = complete({"profiles": [{"schedulerName": profile.scheduler_name, "percentageOfNodesToScore": share}]})
    options = setup.options
    completed = {
        **tree,
        "apiVersion": API_VERSION,
        "kind": KIND,
        "clientConnection": {
            **tree["clientConnection"],
            "kubeconfig": str(options.kubeconfig or ""),
            "qps": options.kube_api_qps,
            "burst": options.kube_api_burst,
        },
        "leaderElection": {
            "leaderElect": options.leader_elect,
            "leaseDuration": format_duration(options.leader_elect_lease_duration_seconds),
            "renewDeadline": format_duration(options.leader_elect_renew_deadline_seconds),
            "retryPeriod": format_duration(options.leader_elect_retry_period_seconds),
            "resourceLock": options.leader_elect_resource_lock,
            "resourceName": options.leader_elect_resource_name,
            "resourceNamespace": options.leader_elect_resource_namespace,
        },
        "profiles": [_profile(profile) for profile in tree["profiles"]],
    }
    # Defaults have tuples, which YAML would mark.
    return encode_yaml(msgspec.json.decode(msgspec.json.encode(dict(sorted(completed.items())))))


def _profile(profile: Tree) -> Tree:
    """Return a profile with all its plugins and their arguments."""
    configured = profile.get("plugins") or {}
    multi_point = configured.get(MULTI_POINT) or {}
    plugins = {point: configured.get(point) or {} for point in POINTS}
    enabled = [
        plugin if plugin.get("weight", 1) != 1 else {"name": plugin["name"]} for plugin in merge_plugins(multi_point)
    ]
    plugins[MULTI_POINT] = {**multi_point, "enabled": enabled}
    names = {plugin["name"] for plugin_set in plugins.values() for plugin in plugin_set.get("enabled") or ()}
    configs = {config["name"]: config["args"] for config in profile.get("pluginConfig") or ()}
    defaults = default_args()
    args = {name: configs.get(name, defaults.get(name)) for name in {*names, *configs}}
    return {
        **profile,
        "plugins": dict(sorted(plugins.items())),
        "pluginConfig": [
            {"args": _typed_args(name, args[name]), "name": name} for name in sorted(args) if args[name] is not None
        ],
    }


def _typed_args(name: str, args: Any) -> Tree:
    """Return arguments with ``apiVersion`` and ``kind``, which those of plugins in tree have."""
    head = {"apiVersion": API_VERSION, "kind": f"{name}Args"} if name in WITH_ARGS else {}
    return {**head, **args}
