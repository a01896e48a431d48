from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.writing import Server

from steersman.apiserver.endpoints.body import ObjectDecoder
from steersman.apiserver.endpoints.create_bodies import CachedSpec, CreateBodyCache, parts_of
from steersman.apiserver.generic.options import WriteOptions
from steersman.apiserver.kinds.core.pod.strategy import PodStrategy
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

POD = struct_for("", "v1", "Pod")
PODS = "/api/v1/namespaces/default/pods"
_STRATEGY = PodStrategy()
_DECODER = ObjectDecoder("Pod", "v1", lambda tree: decode(POD, tree))

COMPACT = '{"kind":"Pod","apiVersion":"v1","metadata":%s,"spec":%s,"status":{}}'
SPACED = '{"apiVersion": "v1", "kind": "Pod", "metadata": %s, "spec": %s}\n'
SPEC = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "0.5"}}}]}


def _slowly(raw: bytes) -> tuple[dict[str, Any], list[str]]:
    """Decode a body without the cache; return the object and its errors."""
    complaints: list[str] = []
    tree = _DECODER.decode(raw, "application/json", WriteOptions(), complaints.append)
    _STRATEGY.default(tree, "v1")
    return tree, complaints


def _learned(*raws: bytes) -> CreateBodyCache:
    create_body_cache = CreateBodyCache(POD, "Pod", "v1")
    for raw in raws * 2:
        tree, complaints = _slowly(raw)
        assert not complaints
        _learn(create_body_cache, raw, tree)
    return create_body_cache


def _learn(cache: CreateBodyCache, raw: bytes, tree: dict[str, Any]) -> bool:
    parts = parts_of(raw)
    assert parts is not None
    return cache.add(raw, parts, tree)


def _cached(cache: CreateBodyCache, raw: bytes) -> tuple[dict[str, Any], CachedSpec] | None:
    parts = parts_of(raw)
    return None if parts is None else cache.read(raw, parts)


def _body(metadata: Any, spec: Any = None, frame: str = COMPACT) -> bytes:
    return (frame % (json.dumps(metadata), json.dumps(SPEC if spec is None else spec))).encode()


def _read(cache: CreateBodyCache, raw: bytes) -> dict[str, Any] | None:
    body = _cached(cache, raw)
    if body is None:
        return None
    _STRATEGY.default_except_spec(body[0], "v1")
    return body[0]


def test_cached_body_with_another_name_equals_a_decoded_one():
    cache = _learned(_body({"name": "a"}), _body({"name": "a"}, frame=SPACED))
    for frame in (COMPACT, SPACED):
        raw = _body({"name": "b", "labels": {"x": "y"}}, frame=frame)
        assert _read(cache, raw) == _slowly(raw)[0]


def test_spec_is_cached_from_its_second_occurrence():
    create_body_cache = CreateBodyCache(POD, "Pod", "v1")
    raw = _body({"name": "a"})
    assert _learn(create_body_cache, raw, _slowly(raw)[0])
    assert _cached(create_body_cache, raw) is None
    assert not _learn(create_body_cache, raw, _slowly(raw)[0])
    assert _cached(create_body_cache, raw) is not None


def test_cached_body_is_a_new_tree_with_a_shared_spec_identity():
    cache = _learned(_body({"name": "a"}))
    first, second = _cached(cache, _body({"name": "b"})), _cached(cache, _body({"name": "c"}))
    assert first is not None
    assert second is not None
    first[0]["spec"]["containers"].clear()
    first[0]["status"]["phase"] = "Running"
    assert second[0]["spec"]["containers"]
    assert second[0]["status"] == {}
    assert first[1] is second[1]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{}",
        b'{"metadata":{},"spec":',
        b"\xff",
        _body({"name": "a"}, {"containers": []}),
        _body(None),
        _body([]),
        _body({"name": 5}),
        _body({"name": "a", "unknown": 1}),
        _body({"name": "a", "managedFields": []}),
        _body({"name": "a"}).replace(b'"name": "a"', b'"name": "b", "name": "a"'),
        _body({"name": "a"}).replace(b'"name": "a"', b'"name" : "b", "name": "a"'),
        _body({"name": "a"}).replace(b'"status":{}', b'"status":{"phase":"Running"}'),
        _body({"name": "a"}).replace(b'"status":{}', b'"unknown":{}'),
        _body({"name": "a"}).replace(b'"status":{}', b'"metadata":{}'),
        _body({"name": "a"}).replace(b'"Pod"', b'"Job"'),
    ],
)
def test_cache_misses_bodies_with_other_fields(raw: bytes):
    assert _cached(_learned(_body({"name": "a"})), raw) is None


def test_status_that_resembles_metadata_is_not_read_as_metadata():
    frame = '{"status":%s,"metadata":%s,"spec":%s}'
    alike = (frame % ("{}", "{}", json.dumps(SPEC))).encode()
    cache = _learned(alike)
    other = (frame % ('{"name":"b"}', '{"name":"b"}', json.dumps(SPEC))).encode()
    assert _cached(cache, alike) is None
    assert _cached(cache, other) is None


def test_cached_body_drops_ignored_annotations():
    cache = _learned(_body({"name": "a"}))
    raw = _body({"name": "b", "annotations": {"pod.beta.kubernetes.io/init-containers": "[]"}})
    read = _read(cache, raw)
    assert read == _slowly(raw)[0]
    assert "annotations" not in read["metadata"]


_TEXTS = st.dictionaries(st.sampled_from(["a", "b", 'c"', "é"]), st.text(max_size=3), max_size=2)
_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["a", "b", 7]),
        "labels": _TEXTS | st.none(),
        "annotations": _TEXTS,
        "creationTimestamp": st.none(),
        "zzz": st.just(1),
    },
)
_SPECS = st.sampled_from([SPEC, {"containers": []}, {**SPEC, "hostNetwork": True}, {}])
_FRAMES = st.sampled_from(
    [COMPACT, SPACED, '{"metadata":%s,"spec":%s}', '{"metadata":%s,"spec":%s,"status":{"phase":"Failed"}}']
)


@given(st.lists(st.tuples(_METADATA, _SPECS, _FRAMES), max_size=6), st.booleans())
def test_cached_bodies_equal_decoded_ones_in_any_order(bodies: list[tuple[Any, Any, str]], escaped: bool):
    create_body_cache = CreateBodyCache(POD, "Pod", "v1")
    for metadata, spec, frame in bodies * 3:
        texts = (json.dumps(one, ensure_ascii=escaped) for one in (metadata, spec))
        raw = (frame % tuple(texts)).encode()
        read = _read(create_body_cache, raw)
        if metadata.get("name") == 7:
            assert read is None
            continue
        tree, complaints = _slowly(raw)
        assert read is None or (read == tree and not complaints)
        if not complaints:
            _learn(create_body_cache, raw, tree)


async def test_pods_of_one_spec_are_stored_alike():
    async with Server() as server:
        created = []
        for name in "abcd":
            body = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "labels": {"x": "y"}}, "spec": SPEC}
            answer = await server.call("POST", PODS, body)
            assert answer.code == 201
            metadata = {k: v for k, v in answer.body["metadata"].items() if k not in ("name", "uid", "resourceVersion")}
            created.append({**answer.body, "metadata": metadata})
        assert created == [created[0]] * 4
        assert created[0]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m"}


async def test_cached_bodies_honor_field_validation():
    body = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {**SPEC, "unknown": 1}}
    doubled = json.dumps(body).replace('"unknown": 1', '"hostname": "a", "hostname": "b"').encode()
    async with Server() as server:
        for value in (body, doubled):
            for validation, code, warnings in [
                ("Ignore", 201, 0),
                ("Ignore", 201, 0),
                ("Warn", 201, 1),
                ("Strict", 400, 0),
            ]:
                answer = await server.call("POST", PODS, value, query=f"dryRun=All&fieldValidation={validation}")
                assert (answer.code, len(answer.warnings)) == (code, warnings)
