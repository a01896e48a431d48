"""Back-off of restarts (upstream: ``doBackOff`` in ``kuberuntime_manager.go``, ``client-go/util/flowcontrol``).

The first restart is immediate, the next ones follow after 10, 20, 40, 80, 160 and then 300 seconds; a container that ran
for more than 10 minutes begins again. The kubelet keeps the delays in memory; here they are derived from the status: the last
delay is the time between the end of the previous run and the start of the last one.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import add_seconds, parse_time

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.trees import Tree


CRASH_LOOP_BACK_OFF: Final = "CrashLoopBackOff"
INITIAL_SECONDS: Final = 10
MAX_SECONDS: Final = 300
#: A run that lasts longer resets the back-off.
RESET_SECONDS: Final = 600
_MESSAGE: Final = re.compile(r"back-off (?:(\d+)m)?(\d+)s restarting failed container=")


def restart_delay_seconds(status: Tree) -> int:
    """Return the delay before the restart of a container whose state is ``terminated``."""
    ended, previous = status["state"]["terminated"] or {}, (status.get("lastState") or {}).get("terminated") or {}
    texts = ended.get("startedAt"), ended.get("finishedAt"), previous.get("finishedAt")
    times = [parse_time(text) for text in texts if text]
    if len(times) < len(texts):
        return 0
    started, finished, previously = times
    if finished - started > timedelta(seconds=RESET_SECONDS):
        return 0
    waited = (started - previously).total_seconds()
    longest = MAX_SECONDS
    for restart in range(1, max(1, status.get("restartCount", 0)) + 1):
        longest = min(MAX_SECONDS, INITIAL_SECONDS * 2 ** (restart - 1))
        if longest == MAX_SECONDS:
            break
    delay = INITIAL_SECONDS
    while delay <= waited and delay < longest:
        delay = min(2 * delay, longest)
    return delay


def restart_time(status: Tree) -> datetime | None:
    """Return the restart time of a container in ``CrashLoopBackOff``; None if its status has no end of a run."""
    waiting, previous = status["state"]["waiting"], (status.get("lastState") or {}).get("terminated") or {}
    if not previous.get("finishedAt"):
        return None
    match = _MESSAGE.match(waiting.get("message") or "")
    seconds = int(match[1] or 0) * 60 + int(match[2]) if match else INITIAL_SECONDS
    return add_seconds(parse_time(previous["finishedAt"]), seconds)


def back_off_message(seconds: int, pod: Tree, container: str) -> str:
    """Format the waiting message as the kubelet does, with a Go duration."""
    duration = f"{seconds // 60}m{seconds % 60}s" if seconds >= 60 else f"{seconds}s"
    return f"back-off {duration} restarting failed container={container} pod={_format_pod(pod)}"


def back_off_event(pod: Tree, container: str) -> str:
    """Format the message of the event ``BackOff``."""
    return f"Back-off restarting failed container {container} in pod {_format_pod(pod)}"


def _format_pod(pod: Tree) -> str:
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata.get('namespace', '')}({metadata.get('uid', '')})"
