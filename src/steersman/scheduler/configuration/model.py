"""Fields of ``KubeSchedulerConfiguration`` and its strict decoding, with Go's error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.typemodel import Field, ListOf, Scalar, ScalarKind, Struct
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.scheduler.configuration.errors import ConfigurationError
from steersman.scheduler.configuration.plugin_sets import MULTI_POINT, PLUGINS, POINTS
from steersman.schema.decoding import decode
from steersman.schema.loader import struct

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Type


GROUP: Final = "kubescheduler.config.k8s.io"
API_VERSION: Final = f"{GROUP}/v1"
KIND: Final = "KubeSchedulerConfiguration"

_TEXT: Final = Scalar(ScalarKind.STRING)
_BOOL: Final = Scalar(ScalarKind.BOOLEAN)
_INT32: Final = Scalar(ScalarKind.INT32)
_INT64: Final = Scalar(ScalarKind.INT64)
_DURATION: Final = Scalar(ScalarKind.DURATION)
_CORE: Final = "io.k8s.api.core.v1"


def _struct(name: str, fields: dict[str, Type], *, always: tuple[str, ...] = ()) -> Struct:
    """Return a struct type; fields in ``always`` have their zero value if missing."""
    return Struct(name, {key: Field(key, type_, required=key in always) for key, type_ in fields.items()})


def _top(name: str, fields: dict[str, Type]) -> Struct:
    return _struct(name, {"apiVersion": _TEXT, "kind": _TEXT, **fields})


_PLUGIN: Final = ListOf(_struct("Plugin", {"name": _TEXT, "weight": _INT32}, always=("name",)))
_PLUGIN_SET: Final = _struct("PluginSet", {"enabled": _PLUGIN, "disabled": _PLUGIN})
_PLUGIN_CONFIG: Final = _struct("PluginConfig", {"name": _TEXT, "args": Scalar(ScalarKind.RAW)}, always=("name",))
_PROFILE: Final = _struct(
    "KubeSchedulerProfile",
    {
        "schedulerName": _TEXT,
        "percentageOfNodesToScore": _INT32,
        "plugins": _struct("Plugins", dict.fromkeys((*POINTS, MULTI_POINT), _PLUGIN_SET)),
        "pluginConfig": ListOf(_PLUGIN_CONFIG),
    },
)
_ELECTION: Final = _struct(
    "LeaderElectionConfiguration",
    {
        "leaderElect": _BOOL,
        **dict.fromkeys(("leaseDuration", "renewDeadline", "retryPeriod"), _DURATION),
        **dict.fromkeys(("resourceLock", "resourceName", "resourceNamespace"), _TEXT),
    },
)
_CONNECTION: Final = _struct(
    "ClientConnectionConfiguration",
    {
        **dict.fromkeys(("kubeconfig", "acceptContentTypes", "contentType"), _TEXT),
        "qps": Scalar(ScalarKind.NUMBER),
        "burst": _INT32,
    },
)
_EXTENDER: Final = _struct(
    "Extender",
    {
        **dict.fromkeys(("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"), _TEXT),
        "weight": _INT64,
        **dict.fromkeys(("enableHTTPS", "nodeCacheCapable", "ignorable"), _BOOL),
        "tlsConfig": _struct(
            "ExtenderTLSConfig",
            {
                "insecure": _BOOL,
                **dict.fromkeys(("serverName", "certFile", "keyFile", "caFile"), _TEXT),
                **dict.fromkeys(("certData", "keyData", "caData"), Scalar(ScalarKind.BYTES)),
            },
        ),
        "httpTimeout": _DURATION,
        "managedResources": ListOf(
            _struct("ExtenderManagedResource", {"name": _TEXT, "ignoredByScheduler": _BOOL}, always=("name",))
        ),
    },
    always=("urlPrefix",),
)
CONFIGURATION: Final = _top(
    KIND,
    {
        "parallelism": _INT32,
        "leaderElection": _ELECTION,
        "clientConnection": _CONNECTION,
        "enableProfiling": _BOOL,
        "enableContentionProfiling": _BOOL,
        "percentageOfNodesToScore": _INT32,
        "podInitialBackoffSeconds": _INT64,
        "podMaxBackoffSeconds": _INT64,
        "profiles": ListOf(_PROFILE),
        "extenders": ListOf(_EXTENDER),
        "delayCacheUntilActive": _BOOL,
    },
)
_SHAPE: Final = ListOf(
    _struct(
        "UtilizationShapePoint", {"utilization": _INT32, "score": _INT32}, always=("utilization", "score")
    )
)  # fmt: skip
_RESOURCES: Final = ListOf(_struct("ResourceSpec", {"name": _TEXT, "weight": _INT64}, always=("name",)))
_STRATEGY: Final = _struct(
    "ScoringStrategy",
    {
        "type": _TEXT,
        "resources": _RESOURCES,
        "requestedToCapacityRatio": _struct("RequestedToCapacityRatioParam", {"shape": _SHAPE}),
    },
)


def _args(name: str) -> Struct:
    """Return the type of a plugin's arguments."""
    return _top(f"{name}Args", _ARGS[name])


_ARGS: Final[dict[str, dict[str, Type]]] = {
    "DefaultPreemption": dict.fromkeys(("minCandidateNodesPercentage", "minCandidateNodesAbsolute"), _INT32),
    "DynamicResources": dict.fromkeys(("filterTimeout", "bindingTimeout"), _DURATION),
    "InterPodAffinity": {"hardPodAffinityWeight": _INT32, "ignorePreferredTermsOfExistingPods": _BOOL},
    "NodeAffinity": {"addedAffinity": struct(f"{_CORE}.NodeAffinity")},
    "NodeResourcesBalancedAllocation": {"resources": _RESOURCES},
    "NodeResourcesFit": {
        "ignoredResources": ListOf(_TEXT),
        "ignoredResourceGroups": ListOf(_TEXT),
        "scoringStrategy": _STRATEGY,
    },
    "PodTopologySpread": {
        "defaultConstraints": ListOf(struct(f"{_CORE}.TopologySpreadConstraint")),
        "defaultingType": _TEXT,
    },
    "VolumeBinding": {"bindTimeoutSeconds": _INT64, "shape": _SHAPE},
}


def read_configuration(raw: bytes) -> Tree:
    """Decode a configuration, including plugin arguments. Raises ``ConfigurationError``."""
    try:
        document = decode_yaml(raw)
    except DecodeError as error:
        raise ConfigurationError(str(error)) from None
    tree = document.tree
    if not isinstance(tree, dict):
        raise ConfigurationError(f"couldn't decode as {KIND}: it is no object")
    _require_kind(tree, KIND)
    _raise_strict([document.strict_error()] if document.duplicates else [])
    decoded = _decode_strict(CONFIGURATION, tree)
    nested: list[str] = []
    for number, profile in enumerate(decoded.get("profiles") or ()):
        for place, config in enumerate(profile.get("pluginConfig") or ()):
            prefix = f"decoding .profiles[{number}].pluginConfig[{place}]: "
            try:
                config["args"] = _decode_args(config["name"], config.get("args") or {})
            except _StrictError as error:
                nested.append(f"{prefix}{error}")
            except ConfigurationError as error:
                raise ConfigurationError(f"{prefix}{error}") from None
    _raise_strict(nested)
    return decoded


class _StrictError(ConfigurationError):
    """A strict decoding error: unknown or duplicate fields."""


def _raise_strict(complaints: list[str]) -> None:
    if complaints:
        raise _StrictError(f"strict decoding error: {', '.join(complaints)}")


def _decode_args(name: str, args: Any) -> Tree:
    if name in PLUGINS and name not in _ARGS:
        return {}  # the plugin has no arguments
    if name not in _ARGS:  # out of tree: the plugin checks them
        if not isinstance(args, dict):
            raise ConfigurationError(f"decoding args for plugin {name}: it is no object")
        return args
    kind = f"{name}Args"
    try:
        return _decode_strict(_args(name), _with_kind(args, kind, name))
    except _StrictError as error:
        raise _StrictError(f"strict decoding error: decoding args for plugin {name}: {error}") from None
    except _KindError:
        raise
    except ConfigurationError as error:
        raise ConfigurationError(f"decoding args for plugin {name}: {error}") from None


def _with_kind(args: Any, kind: str, plugin: str) -> Tree:
    """Return arguments with ``apiVersion`` and ``kind``, which default to the plugin's."""
    if not isinstance(args, dict):
        raise ConfigurationError("json: cannot unmarshal it: it is no object")
    configured = {"apiVersion": API_VERSION, "kind": kind, **args}
    if configured["kind"] != kind and configured["kind"] in map("{}Args".format, _ARGS):
        raise _KindError(f"args for plugin {plugin} were not of type {kind}.{GROUP}, got {configured['kind']}.{GROUP}")
    _require_kind(configured, kind)
    return configured


class _KindError(ConfigurationError):
    """The arguments have another plugin's kind."""


def _require_kind(tree: Tree, kind: str) -> None:
    for name in ("kind", "apiVersion"):
        if not tree.get(name):
            raise ConfigurationError(f"Object '{name.capitalize() if name == 'kind' else name}' is missing")
    if (tree["apiVersion"], tree["kind"]) != (API_VERSION, kind):
        raise ConfigurationError(
            f"no kind {quote(str(tree['kind']))} is registered for version {quote(str(tree['apiVersion']))}: "
            f"it must be {kind} of {API_VERSION}"
        )


def _decode_strict(type_: Struct, tree: Tree) -> Tree:
    try:
        decoded = decode(type_, tree)
    except DecodeError as error:
        raise ConfigurationError(str(error)) from None
    _raise_strict([f"unknown field {quote(path)}" for path in decoded.unknown])
    return decoded.tree
