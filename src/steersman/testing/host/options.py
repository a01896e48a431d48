"""Options of a cluster in a child process, from the arguments of a call or a marker."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from operator import attrgetter
from typing import Any, Final, Literal, Self, get_args

import msgspec

from steersman.testing.clock import QUIET_SECONDS
from steersman.testing.errors import field_and_reason

ClockKind = Literal["real", "virtual"]
StoreKind = Literal["memory", "sqlite"]
_CHOICES: Final = {"clock": get_args(ClockKind), "store": get_args(StoreKind)}


class ClusterOptionError(ValueError):
    """Invalid option of a cluster; the message names it."""


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of one cluster."""

    #: Simulated nodes.
    nodes: int = 1
    #: Names as for ``--controllers``; None for the defaults; empty for no controllers.
    controllers: list[str] | None = None
    scheduler: bool = True
    clock: ClockKind = "real"
    store: StoreKind = "memory"
    feature_gates: dict[str, bool] = {}
    #: Seed of names, UIDs, jitter and probabilities.
    seed: int | None = None
    #: Real time without requests and events after which operators in other processes count as settled.
    quiet_seconds: float = QUIET_SECONDS
    #: Scheduler plugins by name, as ``module:class``.
    scheduler_plugins: dict[str, str] = {}
    #: Fields of the scheduler's KubeSchedulerConfiguration; None enables all ``scheduler_plugins``.
    scheduler_config: dict[str, Any] | None = None
    #: Directories of ``sys.path`` in which the modules of ``scheduler_plugins`` are found.
    plugin_path: list[str] = []

    @classmethod
    def of(cls, arguments: dict[str, Any]) -> Self:
        """Return the options of keyword arguments. Raises ``ClusterOptionError``."""
        if unknown := sorted(set(arguments) - set(cls.__struct_fields__)):
            raise ClusterOptionError(
                f"unknown cluster option {unknown[0]!r}, expected one of {', '.join(cls.__struct_fields__)}"
            )
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in arguments.items()}
        if plugins := values.get("scheduler_plugins"):
            named = plugins.items() if isinstance(plugins, Mapping) else ()
            values["scheduler_plugins"] = {name: _reference(plugin) for name, plugin in named}
            values.setdefault("plugin_path", [entry for entry in sys.path if entry])
        try:
            options = msgspec.convert(values, cls)
        except msgspec.ValidationError as error:
            name, reason = field_and_reason(error)
            choices = ", ".join(_CHOICES.get(name, ()))
            raise ClusterOptionError(
                f"cluster option {name}: {reason}" + (f", expected one of: {choices}" if choices else "")
            ) from error
        if options.nodes < 0:
            raise ClusterOptionError(f"cluster option nodes: {options.nodes} is negative")
        if options.quiet_seconds < 0:
            raise ClusterOptionError(f"cluster option quiet_seconds: {options.quiet_seconds:g} is negative")
        return options

    def plugins(self) -> dict[str, Any]:
        """Import the scheduler plugins. Raises ``ClusterOptionError``."""
        sys.path += [entry for entry in self.plugin_path if entry not in sys.path]
        plugins: dict[str, Any] = {}
        for name, reference in self.scheduler_plugins.items():
            module, _, attribute = reference.partition(":")
            try:
                plugins[name] = attrgetter(attribute)(import_module(module))
            except Exception as error:
                raise ClusterOptionError(
                    f"cluster option scheduler_plugins: {name}: {reference} cannot be loaded:"
                    f" {type(error).__name__}: {error}"
                ) from error
        return plugins

    @property
    def is_whole(self) -> bool:
        """Report whether components other than the API server run."""
        return bool(self.nodes or self.scheduler or self.controllers is None or self.controllers)


def _reference(plugin: Any) -> Any:
    """Return ``module:class`` of a class; another process imports it."""
    return f"{plugin.__module__}:{plugin.__qualname__}" if isinstance(plugin, type) else plugin
