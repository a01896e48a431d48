"""Local commands in place of images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.nodes.processes.test_controller import cluster, pod

from steersman.nodes.processes.images import ImagesError, read_images


def test_find_matches_names_and_tags_in_order() -> None:
    images = read_images(
        {"images": [{"image": "r.io/a:1*", "command": ["one"]}, {"image": "r.io/?", "command": ["any"]}]}
    )
    matches = [images.find(name) for name in ("r.io/a:1.2", "r.io/a:latest", "r.io/b", "r.io/b:2")]
    assert [item and item.command for item in matches] == [["one"], ["any"], ["any"], None]


def test_applied_to_keeps_what_the_container_has(tmp_path: Path) -> None:
    [image] = [read_images({"images": [{"image": "i", "command": ["serve"], "directory": str(tmp_path)}]}).find("i")]
    assert image is not None
    assert image.applied_to({"args": ["-v"]}) == {"args": ["-v"], "command": ["serve"], "workingDir": str(tmp_path)}
    own = {"command": ["sh"], "workingDir": "/"}
    assert image.applied_to(own) == own


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "document: Object missing required field `images`"),
        ({"images": [{"command": ["x"]}]}, r"images\[0\]: Object missing required field `image`"),
        ({"images": [{"image": "", "command": ["x"]}]}, r"images\[0\].image: must not be empty"),
        ({"images": [{"image": "i"}]}, r"images\[0\]: command or directory is required"),
        ({"images": [{"image": "i", "directory": "/no/such"}]}, r"images\[0\].directory: /no/such is not a directory"),
        ({"images": [{"image": "i", "comand": ["x"]}]}, r"images\[0\]: Object contains unknown field `comand`"),
    ],
)
def test_read_images_names_the_field(document: Any, message: str) -> None:
    with pytest.raises(ImagesError, match=message):
        read_images(document)


async def test_pod_runs_the_command_of_its_image(tmp_path: Path) -> None:
    folder = tmp_path / "image"
    folder.mkdir()
    (folder / "greet").write_text("#!/bin/sh\necho hello $1 from $PWD\n")
    (folder / "greet").chmod(0o755)
    images = read_images({"images": [{"image": "i", "command": ["greet"], "directory": str(folder)}]})
    async with cluster(tmp_path, images=images) as world:
        new_pod = pod("", command=[], args=["you"], workingDir="/x")
        created = await world.client.create(new_pod)
        await world.phase("Succeeded")
        assert (await world.log(created)).startswith("hello you from ")
