"""Toolkit for controllers: informers feed a queue, workers reconcile, a manager runs many of them.

Promises: a key is reconciled by one worker at a time; a reconcile that raises is logged, counted and retried with
backoff; a stale cache causes no duplicate creations (``expectations``); only an existing owner adopts
(``references``); reconciles have ended before connections and leases are released.

The common names are exported here; plans, which are pure, import single modules (``owners``,
``conditions``, ``finalizers``, ``structs``, ``claims``).

Upstream: ``sigs.k8s.io/controller-runtime`` and ``pkg/controller``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.extras import load_attribute

if TYPE_CHECKING:
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.controller import Controller
    from steersman.runtime.expectations import Expectations
    from steersman.runtime.heartbeat import LeaseHeartbeat
    from steersman.runtime.manager import LeadershipLost, Manager
    from steersman.runtime.references import ReferenceManager
    from steersman.runtime.result import Result, TerminalError
    from steersman.runtime.slowstart import slow_start_batch

__all__ = [
    "Controller",
    "ControllerContext",
    "Expectations",
    "LeadershipLost",
    "LeaseHeartbeat",
    "Manager",
    "ReferenceManager",
    "Result",
    "TerminalError",
    "slow_start_batch",
]

_MODULES: Final = {
    "Controller": "controller",
    "ControllerContext": "context",
    "Expectations": "expectations",
    "LeadershipLost": "manager",
    "LeaseHeartbeat": "heartbeat",
    "Manager": "manager",
    "ReferenceManager": "references",
    "Result": "result",
    "TerminalError": "result",
    "slow_start_batch": "slowstart",
}


def __getattr__(name: str) -> Any:
    """Import on demand: a pure plan that imports a module of this package must not load asyncio or the metrics."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_attribute(f"{__name__}.{_MODULES[name]}", name, f"{__name__}.{name}", "toolkit")
