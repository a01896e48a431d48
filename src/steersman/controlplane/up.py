"""``steersman up`` and ``steersman apiserver``: start, and tell the user how to reach what runs."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.kubeconfig import KubeconfigError, merge_kubeconfig, user_kubeconfig
from steersman.controlplane.options import OptionError
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from steersman.controlplane.options import APIServerOptions


async def up(options: APIServerOptions, *, merge: bool, begun_seconds: float) -> APIServer:
    """Start everything; ``begun_seconds`` is ``time.perf_counter()`` at the start. Raises what ``APIServer.start`` does."""
    server = await APIServer.start(options)
    took_seconds = time.perf_counter() - begun_seconds
    lines = [
        f"Steersman {__version__} (Kubernetes {KUBERNETES_VERSION}) is ready at {server.url} after {took_seconds:.2f} s",
        f"export KUBECONFIG={server.kubeconfig}",
    ]
    if merge:
        path = user_kubeconfig()
        try:
            merge_kubeconfig(path, server.access)
        except (KubeconfigError, OSError) as error:
            await server.stop(grace_seconds=0)
            raise OptionError(f"--merge: {error}") from error
        lines[1] = f"the context {server.access.name!r} is the current one in {path}"
    if sys.stdout.isatty():
        lines.append("Ctrl-C stops it")
    sys.stdout.write("".join(f"{line}{os.linesep}" for line in lines))
    sys.stdout.flush()
    return server
