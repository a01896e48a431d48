"""Files of ``--process-images``: rejected with TemplateError, or images that any container can be started from."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from steersman.apimachinery.codec import encode
from steersman.nodes.node_object import TemplateError
from steersman.nodes.options import NodesOptions

TOKENS = (b"images:\n", b"- image: a\n", b"- image: 'a/*:v?'\n", b"  command: [sh, -c, a]\n", b"  directory: /tmp\n", b"  directory: /none\n", b"[", b"*",
          b"images: [{image: '[!a', command: [x]}]\n", b"null", b"{}", b"\x00", b"&a ", b"*a", b"  command: 1\n", b"  x: y\n")  # fmt: skip
CONTAINERS = (
    {"image": "a"},
    {"image": "a/b:v1", "command": ["c"], "workingDir": "/w"},
    {"image": ""},
    {},
    {"image": "a" * 300 + "@sha256:0"},
)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz-images-")


def run(data: bytes) -> None:
    path = Path(_folder().name) / "images.yaml"
    path.write_bytes(data)
    try:
        images = NodesOptions(process_images=path).local_images()
    except TemplateError as error:
        assert str(path) in str(error)
        return
    for container in CONTAINERS:
        image = images.find(container.get("image") or "")
        if image is not None:
            encode(image.applied_to(container))
