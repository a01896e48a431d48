"""Fixtures of the suite of public definitions: files of projects, and kubectl without what it made afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Kubectl
from tests.e2e.public.notation import Project, all_projects, project

#: Annotations of an object may take so much together, and client-side apply keeps the whole object in one.
ANNOTATIONS_MAX_BYTES = 256 * 1024


class Files:
    """Manifests of one project or all."""

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


@pytest.fixture
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """Return the manifests of the project that is the parameter, else those of all projects together."""
    return Files(tmp_path, project(request.param) if hasattr(request, "param") else all_projects())


@pytest.fixture
def clean_kubectl(kubectl: Kubectl, files: Files) -> Iterator[Kubectl]:
    """kubectl in a namespace of its own; the definitions, and objects with them, are gone at the end."""
    yield kubectl
    kubectl.run("delete", "-f", files.definitions, "--ignore-not-found")
