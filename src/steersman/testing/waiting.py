"""Conditions of ``kubectl wait``, and errors of waits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: ``condition=Available``, ``condition=Ready=False``.
_CONDITION: Final = re.compile(r"condition=(?P<type>[^=]+)(=(?P<status>.+))?")
#: ``jsonpath={.status.phase}=Running``, or short ``.status.phase=Running``; without a value any value matches.
_PATH: Final = re.compile(r"(jsonpath=)?'?\{?(?P<path>(\.[\w-]+|\[\d+\])+)\}?'?(=(?P<value>.*))?")
_STEP: Final = re.compile(r"\.([\w-]+)|\[(\d+)\]")


class WaitError(AssertionError):
    """An awaited state was not reached in time; the message has the history of the object."""


class SettleError(AssertionError):
    """The cluster did not settle in time; the message lists the remaining work."""


class BadCondition(ValueError):  # noqa: N818 — named by the condition
    """Unsupported condition."""


def read_condition(text: str) -> Callable[[dict[str, Any] | None], bool]:
    """Return a predicate of an object, which is None if absent. Raises ``BadCondition``.

    Conditions are ``create``, ``delete``, ``condition=TYPE[=STATUS]`` and ``[jsonpath=]{.PATH}[=VALUE]``.
    """
    if text == "delete":
        return lambda obj: obj is None
    if text == "create":
        return lambda obj: obj is not None
    if match := _CONDITION.fullmatch(text):
        condition_type, status = match["type"].lower(), (match["status"] or "True").lower()
        return lambda obj: obj is not None and _status_of(obj, condition_type) == status
    if match := _PATH.fullmatch(text):
        path, value = match["path"], match["value"]
        return lambda obj: obj is not None and _has(obj, path, value)
    raise BadCondition(
        f'"{text}" is no condition: expected create, delete, condition=TYPE, condition=TYPE=STATUS or .PATH=VALUE'
    )


def _status_of(obj: dict[str, Any], condition_type: str) -> str:
    """Return the status of a condition in lower case; empty if its ``observedGeneration`` is outdated, as ``kubectl wait``."""
    status = obj.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type", "").lower() == condition_type:
            generation = obj["metadata"].get("generation") or 0
            observed = condition.get("observedGeneration") or status.get("observedGeneration") or generation
            return condition.get("status", "").lower() if observed >= generation else ""
    return ""


def _has(obj: dict[str, Any], path: str, value: str | None) -> bool:
    current: Any = obj
    for name, index in _STEP.findall(path):
        if name:
            current = current.get(name) if isinstance(current, dict) else None
        else:
            current = current[int(index)] if isinstance(current, list) and int(index) < len(current) else None
        if current is None:
            return False
    if value is None:
        return True
    shown = {True: "true", False: "false"}.get(current) if isinstance(current, bool) else str(current)
    return shown == value
