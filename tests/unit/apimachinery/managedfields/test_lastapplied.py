"""kubectl's annotation; how it lifts conflicts is tested with apply."""

from __future__ import annotations

from steersman.apimachinery.managedfields.lastapplied import ANNOTATION, keep_up

CONFIG = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "<b>"}}


def test_an_object_without_the_annotation_gets_none():
    obj = {"metadata": {"annotations": {"x": "y"}}}
    keep_up(obj, CONFIG)
    assert obj == {"metadata": {"annotations": {"x": "y"}}}


def test_the_annotation_is_sorted_escaped_and_ends_its_line():
    obj = {"metadata": {"annotations": {ANNOTATION: "old"}}}
    keep_up(obj, CONFIG)
    assert obj["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"v1","data":{"k":"\\u003cb\\u003e"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
    )
