"""Address of the health page of components that ``up`` starts: a Unix socket, to use no port."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from pathlib import Path


def health_socket(platform: str = sys.platform) -> str:
    """Return an address that no other process uses: ``@NAME`` (abstract namespace) on Linux, elsewhere a path."""
    name = f"steersman-{os.getpid()}-{secrets.token_hex(8)}"
    return f"@{name}" if platform == "linux" else str(Path(tempfile.gettempdir()) / f"{name}.sock")
