"""Source of the root CA for both publishers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext


def root_ca(context: ControllerContext) -> str:
    """Return ``--root-ca-file``, or the CA of the client, in PEM; empty without either."""
    file = context.options.root_ca_file
    ca_bundle = Path(file).read_bytes() if file else context.client.trusted_ca
    return (ca_bundle or b"").decode()
