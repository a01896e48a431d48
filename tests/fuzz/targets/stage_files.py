"""KWOK stage files: reading one raises TemplateError only; its stages select and transform any Pod or Node."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.targets.go_templates import OBJECTS, SURROUNDINGS

from steersman.nodes.kwok.stage_files import StageOf, read_stage_file
from steersman.nodes.node_object import TemplateError
from steersman.nodes.stages import choose

TOKENS = (b"apiVersion: kwok.x-k8s.io/v1alpha1\n", b"kind: Stage\n", b"metadata: {name: a}\n", b"spec:\n", b"  resourceRef: {apiGroup: v1, kind: Pod}\n",
          b"  selector:\n", b"    matchLabels: {a: b}\n", b"    matchExpressions:\n", b"    - key: .metadata.name\n", b"      operator: 'Exists'\n",
          b"      operator: 'In'\n", b"      values: ['a']\n", b"  delay: {durationMilliseconds: 5}\n", b"    jitterDurationFrom: {expressionFrom: .a}\n",
          b"  next:\n", b"    statusTemplate: '{{ .a }}'\n", b"    delete: true\n", b"    finalizers: {empty: true}\n", b"  weight: 1\n",
          b"  weightFrom: {expressionFrom: .a}\n", b"  steps:\n", b"    patches: [{root: status, template: 'a: b', type: merge}]\n", b"---\n",
          b"cel: {expression: 'self.a'}\n", b"jq: {expression: .a}\n", b"event: {type: a, reason: b, message: c}\n")  # fmt: skip


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz-stages-")


def run(data: bytes) -> None:
    path = Path(_folder().name) / "stages.yaml"
    path.write_bytes(data)
    try:
        stages = read_stage_file(path).stages
    except TemplateError as error:
        assert str(path) in str(error)
        return
    for obj in OBJECTS:
        for kind in ("Pod", "Node"):
            _check(stages, kind, obj)


def _check(stages: list[StageOf], kind: str, obj: dict[str, Any]) -> None:
    dice = Random(1)
    stage = choose([item.stage for item in stages if item.kind == kind], obj, now=SURROUNDINGS.now, dice=dice)
    if stage is None:
        return
    assert stage.delay.length_seconds(obj, now=SURROUNDINGS.now, dice=dice) >= 0
    try:
        outcome = stage.transition(obj, SURROUNDINGS)
    except ValueError as error:
        assert type(error).__name__ == "TemplateRenderError", error
        return
    assert outcome.subresource is not None
