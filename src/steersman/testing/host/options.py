"""Options of a cluster in a child process, from the arguments of a call or a marker."""

from __future__ import annotations

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

    @classmethod
    def of(cls, arguments: dict[str, Any]) -> Self:
        """Return the options of keyword arguments. Raises ``ClusterOptionError``."""
        if unknown := sorted(set(arguments) - set(cls.__struct_fields__)):
            raise ClusterOptionError(
                f"unknown cluster option {unknown[0]!r}, expected one of {', '.join(cls.__struct_fields__)}"
            )
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in arguments.items()}
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

    @property
    def is_whole(self) -> bool:
        """Report whether components other than the API server run."""
        return bool(self.nodes or self.scheduler or self.controllers is None or self.controllers)
