"""Classes of plugins by name: of installed packages, or passed by a test.

Installed packages declare them by entry points in the group ``steersman.scheduler.plugins``; the name of an entry point is
that of the plugin. The metadata is read, and a package imported, only when a configuration names its plugin.
"""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.scheduler.configuration.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

GROUP: Final = "steersman.scheduler.plugins"
#: Methods by extension point.
_METHODS: Final = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "less",
    "preFilter": "pre_filter",
    "filter": "filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "score": "score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "bind",
    "postBind": "post_bind",
}


def extension_points(plugin: Any) -> frozenset[str]:
    """Return the extension points that a plugin class implements."""
    return frozenset(point for point, method in _METHODS.items() if callable(getattr(plugin, method, None)))


def load_installed(names: Collection[str]) -> dict[str, Any]:
    """Return the plugins of installed packages among ``names``. Raises ``ConfigurationError``."""
    plugins: dict[str, Any] = {}
    for point in metadata.entry_points(group=GROUP):
        if point.name not in names:
            continue
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
        if point.name in plugins:
            raise ConfigurationError(f"scheduler plugin {point.name}: more than one package has it, e.g. {package}")
        try:
            plugins[point.name] = point.load()
        except Exception as error:
            raise ConfigurationError(
                f"scheduler plugin {point.name} of {package}: {point.value} cannot be loaded:"
                f" {type(error).__name__}: {error}"
            ) from error
    check_plugins(plugins)
    return plugins


def check_plugins(plugins: Mapping[str, Any]) -> None:
    """Reject objects that are no plugin classes. Raises ``ConfigurationError``."""
    for name, plugin in plugins.items():
        if not callable(plugin):
            raise ConfigurationError(f"scheduler plugin {name}: {plugin!r} is no class")
        if not extension_points(plugin):
            raise ConfigurationError(f"scheduler plugin {name}: {plugin!r} has no method of an extension point")
        if "reserve" in extension_points(plugin) and not callable(getattr(plugin, "unreserve", None)):
            raise ConfigurationError(f"scheduler plugin {name}: {plugin!r} has reserve, but not unreserve")


def convert_args(plugin: Any, args: Mapping[str, Any]) -> Any:
    """Convert arguments to the plugin's ``Args``. Raises ``ValueError`` with the reason."""
    type_ = getattr(plugin, "Args", None)
    if type_ is None:
        return args
    try:
        return msgspec.convert(dict(args), type_)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
