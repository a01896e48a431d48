"""Fuzzing targets, one module each: ``run(data)`` raises when the code under test breaks its contract for that input.

A contract is: declared error types only, no RecursionError, and what the module states (round trips, idempotence).
``TOKENS`` are words of the input's grammar, for mutation.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = (
    "api_requests",
    "backend_documents",
    "cbor_bodies",
    "cel_expressions",
    "control_channel",
    "crd_schemas",
    "encryption",
    "etcd_messages",
    "field_selectors",
    "go_templates",
    "grpc_frames",
    "http_connection",
    "jq_queries",
    "json_bodies",
    "json_parts",
    "json_patches",
    "kubeconfig",
    "label_selectors",
    "managed_fields",
    "process_images",
    "protobuf_bodies",
    "server_side_apply",
    "spdy_frames",
    "stage_files",
    "stored_values",
    "strategic_merge",
    "typed_objects",
    "urls",
    "webhook_reviews",
    "yaml_bodies",
)


class Target(NamedTuple):
    """One fuzzing target."""

    name: str
    run: Callable[[bytes], None]
    tokens: tuple[bytes, ...]


def load(name: str) -> Target:
    """Import a target. Raises KeyError for an unknown name."""
    if name not in NAMES:
        raise KeyError(name)
    module = import_module(f"tests.fuzz.targets.{name}")
    return Target(name, module.run, tuple(module.TOKENS))
