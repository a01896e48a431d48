"""Validation of probes and lifecycle handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.validation import check_all, check_not_negative, validate_port_number_or_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_TIMINGS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def has_probes(container: Tree) -> bool:
    """Report whether a container has a probe."""
    return not container.keys().isdisjoint(_PROBES)


def validate_probes(container: Tree, path: Path, grace_seconds: int | None) -> Iterator[FieldError]:
    """Validate the liveness, readiness and startup probes of a container."""
    for name in _PROBES:
        probe = container.get(name)
        if probe is None:
            continue
        field_path = path.child(name)
        yield from _validate_probe(probe, field_path, grace_seconds)
        if name == "readinessProbe":
            if (seconds := probe.get("terminationGracePeriodSeconds")) is not None:
                detail = "must not be set for readinessProbes"
                yield field.invalid(field_path.child("terminationGracePeriodSeconds"), seconds, detail)
        elif probe.get("successThreshold", 0) != 1:
            yield field.invalid(field_path.child("successThreshold"), probe.get("successThreshold", 0), "must be 1")


def _validate_probe(probe: Tree, path: Path, grace_seconds: int | None) -> Iterator[FieldError]:
    yield from _validate_handler(probe, path, grace_seconds, is_hook=False)
    for name in _TIMINGS:
        yield from check_not_negative(probe.get(name), path.child(name))
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        yield field.invalid(path.child("terminationGracePeriodSeconds"), seconds, "must be greater than 0")


def validate_lifecycle(lifecycle: Tree, path: Path, grace_seconds: int | None) -> Iterator[FieldError]:
    """Validate ``lifecycle``: postStart and preStop."""
    for name in ("postStart", "preStop"):
        handler = lifecycle.get(name)
        if handler is not None:
            yield from _validate_handler(handler, path.child(name), grace_seconds, is_hook=True)


def _validate_handler(handler: Tree, path: Path, grace_seconds: int | None, *, is_hook: bool) -> Iterator[FieldError]:
    """Validate that a handler has exactly one action. Lifecycle hooks cannot use gRPC, probes cannot sleep."""
    unknown = "grpc" if is_hook else "sleep"
    actions = [name for name in _HANDLERS if name != unknown and handler.get(name) is not None]
    if not actions:
        yield field.required(path, "must specify a handler type")
        return
    first, *surplus = actions
    yield from _validate_action(first, handler[first], path.child(first), grace_seconds)
    for name in surplus:
        yield field.forbidden(path.child(name), "may not specify more than 1 handler type")


def _validate_action(name: str, action: Tree, path: Path, grace_seconds: int | None) -> Iterator[FieldError]:
    match name:
        case "exec":
            if not action.get("command"):
                yield field.required(path.child("command"))
        case "httpGet":
            yield from _validate_http_get(action, path)
        case "tcpSocket":
            yield from validate_port_number_or_name(action.get("port", 0), path.child("port"))
        case "grpc":
            port = action.get("port", 0)
            yield from check_all(path.child("port"), port, names.check_port_number(port))
        case "sleep":
            seconds = action.get("seconds", 0)
            if grace_seconds is not None and not 0 <= seconds <= grace_seconds:
                detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})"
                yield field.invalid(path, seconds, detail)


def _validate_http_get(action: Tree, path: Path) -> Iterator[FieldError]:
    if not action.get("path"):
        yield field.required(path.child("path"))
    yield from validate_port_number_or_name(action.get("port", 0), path.child("port"))
    scheme = action.get("scheme") or ""
    if scheme not in ("HTTP", "HTTPS"):
        yield field.not_supported(path.child("scheme"), scheme, ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        yield from check_all(path.child("httpHeaders"), name, names.check_http_header_name(name))
