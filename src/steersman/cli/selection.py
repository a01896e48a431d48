"""Choice of one control plane of this user, for commands that work on a running one."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from steersman.apimachinery.names import is_dns1123_label
from steersman.controlplane.running_planes import running_directory, running_planes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.controlplane.running_planes import RunningPlane


class SelectionError(Exception):
    """No control plane can be selected; the message has the reason and the remedy."""


def plane_name(text: str) -> str:
    """Return the value of ``--name``. Raises ``ArgumentTypeError``."""
    if not is_dns1123_label(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid name: at most 63 lower case letters, digits or '-',"
            " beginning and ending with a letter or digit (RFC 1123 label)"
        )
    return text


def select_plane(planes: Sequence[RunningPlane], name: str | None = None) -> RunningPlane:
    """Return the control plane of that name, or the only one. Raises SelectionError."""
    if name is not None:
        matching = [plane for plane in planes if plane.name == name]
        if matching:
            return matching[-1]
        running = ", ".join(plane.name or "(unnamed)" for plane in planes) or "none"
        raise SelectionError(f"no control plane named {name!r} runs here; running: {running}")
    if not planes:
        raise SelectionError("no control plane of yours runs here; steersman up starts one")
    if len(planes) > 1:
        listed = "".join(f"\n  {plane.name or '(unnamed)'}  {plane.url}" for plane in planes)
        raise SelectionError(f"{len(planes)} control planes run here; choose one with --name{listed}")
    return planes[0]


def running_plane(name: str | None = None) -> RunningPlane:
    """Return the running control plane of that name, or the only one. Raises SelectionError."""
    return select_plane(running_planes(running_directory()), name)


def default_kubeconfig() -> str | None:
    """Return the kubeconfig of the only control plane that runs here; None if the client should look for one.

    ``$KUBECONFIG`` has precedence, and the user chooses among several control planes.
    """
    if os.environ.get("KUBECONFIG"):
        return None
    planes = running_planes(running_directory())
    return planes[0].kubeconfig if len(planes) == 1 else None
