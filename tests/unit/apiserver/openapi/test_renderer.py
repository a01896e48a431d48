"""Hashes of documents about built-in kinds."""

import subprocess
import sys
from pathlib import Path

import steersman
from steersman.apiserver.openapi import renderer
from steersman.schema.resources import table

#: Modules that the builder imports without influence on documents of built-in kinds.
WITHOUT_INFLUENCE = {
    "steersman",
    "steersman.apimachinery",
    "steersman.apimachinery.codec",
    "steersman.apimachinery.errors",
    "steersman.apimachinery.field",
    "steersman.apimachinery.gotext",
    "steersman.apimachinery.json_parts",
    "steersman.apimachinery.json_syntax",
    "steersman.apimachinery.json_values",
    "steersman.apimachinery.protowire",
    "steersman.apimachinery.workmeter",
    "steersman.apiserver",
    "steersman.extras",
    "steersman.version",  # has the Kubernetes release, which is digested by value
}


def test_digest_covers_the_modules_that_the_builder_loads():
    code = (
        "import sys, steersman.apiserver.openapi.builder; print(*(m for m in sys.modules if m.startswith('steersman')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    top = Path(steersman.__file__).parent
    # Without suffixes: wheels have compiled modules.
    covered = {file.parent / file.name.partition(".")[0] for _name, file in renderer._files()}
    for module in set(loaded) - WITHOUT_INFLUENCE:
        path = top.joinpath(*module.split(".")[1:])
        assert {path, path / "__init__"} & covered, module


def test_digest_covers_tables_and_descriptions():
    names = {file.name for _name, file in renderer._files()}
    assert {"resources.json", "core_v1.py"} <= names


def test_built_in_etag_depends_on_renderer_path_and_resources_but_not_on_their_order():
    resources = table().of_version("apps", "v1")
    etag = renderer.built_in_etag(b"1", "apis/apps/v1", resources)
    assert renderer.built_in_etag(b"1", "apis/apps/v1", reversed(resources)) == etag
    assert renderer.built_in_etag(b"2", "apis/apps/v1", resources) != etag
    assert renderer.built_in_etag(b"1", "apis/apps/v2", resources) != etag
    assert renderer.built_in_etag(b"1", "apis/apps/v1", resources[1:]) != etag
