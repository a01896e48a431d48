"""Lifecycle hooks of process containers: ``postStart`` and ``preStop``. Upstream: pkg/kubelet/lifecycle/handlers.go."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from steersman.apimachinery.gotext import errno_text
from steersman.nodes.processes.http import get

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock


async def run_hook(
    hook: Tree, container: Tree, *, execute: Callable[[Sequence[str]], Awaitable[int]], clock: Clock
) -> str:
    """Run a hook to completion; return the reason of a failure, or an empty text."""
    if hook.get("exec"):
        command = list(hook["exec"].get("command") or ())
        try:
            code = await execute(command)
        except OSError as error:
            return f"command '{' '.join(command)}': {errno_text(error)}"
        return f"command '{' '.join(command)}' exited with {code}: " if code else ""
    if hook.get("httpGet"):
        try:
            await get(hook["httpGet"], container, agent="kube-lifecycle/1.36")
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            return str(error) or type(error).__name__
    elif hook.get("sleep"):
        await clock.sleep(float(hook["sleep"].get("seconds") or 0))
    return ""
