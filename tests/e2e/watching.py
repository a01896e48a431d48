"""Waiting without asking again and again: for objects by a watch, for a line by reading, for a process by its end."""

from __future__ import annotations

import json
import os
import select
import ssl
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import TypeVar
from urllib.parse import urlencode

from tests.busy_machine import HANG_SECONDS

from steersman.apimachinery.trees import Tree
from steersman.testing import ControlPlane

T = TypeVar("T")


def until(cluster: ControlPlane, path: str, holds: Callable[[list[Tree]], T], *, seconds: int = HANG_SECONDS) -> T:
    """Follow a collection until what ``holds`` says of its objects is true, and return that. No client of ours is used."""
    objects: dict[tuple[str, str], Tree] = {}
    is_whole, result = False, None
    for event in _watch(cluster, path, seconds):
        kind, obj = event["type"], event["object"]
        assert kind != "ERROR", obj
        if kind == "BOOKMARK":
            is_whole = True  # all that was there has come
        else:
            metadata = obj["metadata"]
            key = metadata.get("namespace", ""), metadata["name"]
            if kind == "DELETED":
                objects.pop(key, None)
            else:
                objects[key] = obj
        if is_whole and (result := holds(list(objects.values()))):
            return result
    raise AssertionError(
        f"{path}: within {seconds} s it did not come to be: {json.dumps(list(objects.values()))[:2000]}"
    )


def until_one(cluster: ControlPlane, path: str, holds: Callable[[Tree | None], T], *, seconds: int = HANG_SECONDS) -> T:
    """Wait as ``until`` for one object, by its path; None for a missing one."""
    collection, _, name = path.rpartition("/")
    selected = f"{collection}?{urlencode({'fieldSelector': f'metadata.name={name}'})}"
    return until(cluster, selected, lambda objects: holds(objects[0] if objects else None), seconds=seconds)


def _watch(cluster: ControlPlane, path: str, seconds: int) -> Iterator[Tree]:
    """Yield events of existing objects and of changes for a duration."""
    query = {
        "watch": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds),
    }  # fmt: skip
    url = f"{cluster.url}{path}{'&' if '?' in path else '?'}{urlencode(query)}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {cluster.token}"})
    context = ssl.create_default_context(cafile=str(cluster.ca))
    with urllib.request.urlopen(request, context=context, timeout=seconds + 10) as answer:
        for line in answer:
            yield json.loads(line)


def named(name: str) -> Callable[[list[Tree]], Tree | None]:
    """Return a condition for ``until`` on the object of the name."""
    return lambda objects: next((item for item in objects if item["metadata"]["name"] == name), None)


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Read until a line has it."""
    assert process.stdout is not None
    bound = threading.Timer(HANG_SECONDS, process.kill)
    bound.start()
    try:
        for line in process.stdout:
            if text in line:
                return line
    finally:
        bound.cancel()
    raise AssertionError(f"{text!r} was never said")


class Ending:
    """The end of a process that is running now."""

    def __init__(self, pid: int) -> None:
        self._handle = os.pidfd_open(pid)

    def wait(self) -> None:
        """Wait until the process has ended."""
        with os.fdopen(self._handle):
            assert select.select([self._handle], [], [], HANG_SECONDS)[0], "the process goes on"
