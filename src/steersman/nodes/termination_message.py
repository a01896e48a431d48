"""Termination messages of containers.

Upstream: ``pkg/kubelet/kuberuntime/kuberuntime_container.go``, ``getTerminationMessage`` and ``readLastStringFromContainerLogs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

#: Limits of messages; the end is kept.
MESSAGE_BYTES_MAX: Final = 4096
_LOG_BYTES_MAX: Final = 2048
_LOG_LINES_MAX: Final = 80
_DEFAULT_PATH: Final = "/dev/termination-log"


def termination_log_path(container: Tree) -> str:
    """Return the path of the file in the container that receives its message."""
    return container.get("terminationMessagePath") or _DEFAULT_PATH


def termination_message(container: Tree, *, code: int, written: bytes, log: bytes) -> str:
    """Return the message: the end of what was ``written`` to the termination log.

    If that is empty and the container failed, ``FallbackToLogsOnError`` takes the end of its log.
    """
    data = written[-MESSAGE_BYTES_MAX:]
    if not data and code != 0 and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
        data = b"".join(log.splitlines(keepends=True)[-_LOG_LINES_MAX:])[-_LOG_BYTES_MAX:]
    return data.decode(errors="replace")
