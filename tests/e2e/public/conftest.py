"""Fixtures of the suite of public definitions: one project, its files, and kubectl without what it made afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Kubectl
from tests.e2e.public.notation import PROJECTS, Project, project

#: Annotations of an object may take so much together, and client-side apply keeps the whole object in one.
ANNOTATIONS_MAX_BYTES = 256 * 1024


class Files:
    """Manifests of a project."""

    def __init__(self, folder: Path, content: Project) -> None:
        self.folder = folder
        self.project = content
        self.definitions = self.write("definitions", content.definitions)
        self.small_definitions = self.write(
            "small", [definition for definition in content.definitions if not is_large(definition)]
        )
        self.large_definitions = self.write(
            "large", [definition for definition in content.definitions if is_large(definition)]
        )
        self.objects = self.write("objects", content.objects)
        self.changed_objects = self.write("changed", content.changed_objects)

    def write(self, name: str, objects: Sequence[dict[str, Any]]) -> str:
        path = self.folder / f"{name}.json"
        path.write_text("\n".join(map(json.dumps, objects)))
        return str(path)

    def write_list(self, name: str, objects: Sequence[dict[str, Any]]) -> str:
        """Write a ``List``, whose items kubectl validates itself."""
        return self.write(name, [{"apiVersion": "v1", "kind": "List", "items": objects}])


def is_large(definition: dict[str, Any]) -> bool:
    """True if client-side apply cannot keep the definition in an annotation."""
    return len(json.dumps(definition, separators=(",", ":"))) > ANNOTATIONS_MAX_BYTES


@pytest.fixture(params=PROJECTS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """Return the manifests of one project."""
    return Files(tmp_path, project(request.param))


@pytest.fixture
def clean_kubectl(kubectl: Kubectl, files: Files) -> Iterator[Kubectl]:
    """kubectl in a namespace of its own; the project's definitions, and objects with them, are gone at the end."""
    yield kubectl
    kubectl.run("delete", "-f", files.definitions, "--ignore-not-found")


@pytest.fixture
def all_files(tmp_path: Path) -> Files:
    """Return the manifests of all projects together."""
    projects = [project(name) for name in PROJECTS]
    lists = ([item for entry in projects for item in entry[field]] for field in (1, 2, 3))
    return Files(tmp_path, Project("all", *lists))


@pytest.fixture
def clean_kubectl_of_all(kubectl: Kubectl, all_files: Files) -> Iterator[Kubectl]:
    """kubectl in a namespace of its own; definitions of all projects are gone at the end."""
    yield kubectl
    kubectl.run("delete", "-f", all_files.definitions, "--ignore-not-found")
