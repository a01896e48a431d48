"""kubectl's annotation; how it lifts conflicts is tested with apply."""

from __future__ import annotations

from steersman.apimachinery.managedfields.lastapplied import ANNOTATION, keep_up

CONFIG = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "<b>"}}


def test_keep_up_adds_no_annotation():
    obj = {"metadata": {"annotations": {"x": "y"}}}
    keep_up(obj, CONFIG)
    assert obj == {"metadata": {"annotations": {"x": "y"}}}


def test_keep_up_sorts_escapes_and_ends_with_a_newline():
    obj = {"metadata": {"annotations": {ANNOTATION: "old"}}}
    keep_up(obj, CONFIG)
    assert obj["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"v1","data":{"k":"\\u003cb\\u003e"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
    )
