from __future__ import annotations

from functools import partial

import pytest

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.body import ObjectDecoder, drop_empty_lists, empty_lists_of, equivalent_api_versions
from steersman.apiserver.generic.options import WriteOptions
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

JSON = "application/json"


def _decoder(kind: str = "ConfigMap", group: str = "", version: str = "v1") -> ObjectDecoder:
    api_version = f"{group}/{version}" if group else version
    struct = struct_for(group, version, kind)
    return ObjectDecoder(
        kind,
        api_version,
        partial(decode, struct),
        struct=struct,
        equivalent_versions=equivalent_api_versions(kind, api_version),
        empty_lists=empty_lists_of(struct),
    )


def _read(raw: bytes, decoder: ObjectDecoder | None = None, *, media_type: str = JSON, **options: str):
    return (decoder or _decoder()).decode(raw, media_type, WriteOptions(**options), lambda _: None)


def _refusal(raw: bytes, decoder: ObjectDecoder | None = None, **more: str) -> str:
    with pytest.raises(StatusError) as caught:
        _read(raw, decoder, **more)
    assert caught.value.code == 400
    return caught.value.message


def test_decode_defaults_kind_and_api_version():
    for raw in (b"{}", b"null", b'{"kind":"ConfigMap"}', b'{"apiVersion":"v1","kind":null}'):
        assert _read(raw) == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "unexpected end of JSON input (<empty>)"),
        (b"hello", "invalid character 'h' looking for beginning of value (68656c6c6f)"),
        (b'{"kind": "ConfigMap"} more', "invalid character 'm' after top-level value"),
        (b"[]", "json: cannot unmarshal array into Go value of type struct"),
    ],
)
def test_decode_rejects_unrecognized_bodies(raw, message):
    refusal = _refusal(raw)
    assert refusal.startswith(
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind"
    )
    assert message in refusal


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"apiVersion":"v1","kind":"Secret"}', "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        (b'{"apiVersion":"v1","kind":"ConfigMapList"}', "converting (v1.ConfigMapList) to (core.ConfigMap)"),
        (
            b'{"apiVersion":"extensions/v1beta1","kind":"Ingress"}',
            "converting (v1beta1.Ingress) to (core.ConfigMap): unknown conversion",
        ),
        (b'{"apiVersion":"v2","kind":"ConfigMap"}', 'no kind "ConfigMap" is registered for version "v2"'),
        (b'{"apiVersion":"v1","kind":"Nothing"}', 'no kind "Nothing" is registered for version "v1"'),
    ],
)
def test_decode_rejects_another_kind_by_name(raw, message):
    assert f"cannot be handled as a ConfigMap: {message}" in _refusal(raw)


def test_decode_rejects_another_version_of_the_kind():
    decoder = _decoder("HorizontalPodAutoscaler", "autoscaling", "v2")
    refusal = _refusal(b'{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler"}', decoder)
    assert (
        refusal
        == "the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)"
    )


@pytest.mark.parametrize("version", ["apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"])
def test_decode_rejects_versions_that_are_no_longer_served(version):
    raw = f'{{"apiVersion":"{version}","kind":"Deployment"}}'.encode()
    refusal = _refusal(raw, _decoder("Deployment", "apps", "v1"))
    assert refusal == f"the API version in the data ({version}) does not match the expected API version (apps/v1)"


def test_type_error_shows_the_number_as_written():
    decoder = _decoder("ReplicaSet", "apps", "v1")
    raw = b'{"kind":"ReplicaSet","apiVersion":"apps/v1","spec":{"replicas":2e0}}'
    assert "cannot unmarshal number 2e0 into Go struct field ReplicaSetSpec.spec.replicas of type int32" in _refusal(
        raw, decoder
    )


def test_strict_decoding_names_all_duplicate_and_unknown_fields():
    raw = b'{"data":{"k":"v","k":"w"},"typo":1}'
    assert _refusal(raw, field_validation="Strict").endswith(
        'strict decoding error: duplicate field "data.k", unknown field "typo"'
    )
    assert _read(raw)["data"] == {"k": "w"}


@pytest.mark.parametrize(
    ("raw", "messages"),
    [
        (b'{"typo":1,"data":{"k":"v","k":"w"}}', ['unknown field "typo"', 'duplicate field "data.k"']),
        (b'{"typo":1,"data":{},"typo":2,"data":{}}', ['unknown field "typo"', 'duplicate field "data"']),
        (
            b'{"data":{"k":"v","k":"w"},"typo":{"a":1,"a":2},"metadata":{"x":1},"data":{}}',
            [
                'duplicate field "data.k"',
                'unknown field "typo"',
                'unknown field "metadata.x"',
                'duplicate field "data"',
            ],
        ),
    ],
)
def test_strict_decoding_reports_errors_in_document_order(raw, messages):
    assert _refusal(raw, field_validation="Strict").endswith(f"strict decoding error: {', '.join(messages)}")


def test_strict_decoding_skips_values_with_a_decoder_of_their_own():
    raw = b'{"revision":1,"data":{"a":1,"a":2},"metadata":{"managedFields":[{"fieldsV1":{"f:a":{},"f:a":{}}}]}}'
    decoder = _decoder("ControllerRevision", "apps")
    assert _read(raw, decoder, field_validation="Strict")["data"] == {"a": 2}
    raw = b'{"revision":1,"revision":2,"data":{"a":1,"a":2}}'
    refusal = _refusal(raw, decoder, field_validation="Strict")
    assert refusal.endswith('strict decoding error: duplicate field "revision"')


def test_duplicate_keys_of_objects_are_merged():
    raw = b'{"metadata":{"name":"a"},"data":{"k":"v"},"metadata":{"labels":{"x":"1"}},"data":{"l":"w"}}'
    for field_validation in ("Warn", "Ignore"):
        obj = _read(raw, field_validation=field_validation)
        assert (obj["metadata"], obj["data"]) == ({"name": "a", "labels": {"x": "1"}}, {"k": "v", "l": "w"})


def test_strict_decoding_of_custom_objects_reports_duplicates_first():
    decoder = ObjectDecoder("Thing", "example.com/v1", lambda tree: (dict(tree), ["typo"]), is_custom=True)
    raw = b'{"apiVersion":"example.com/v1","kind":"Thing","typo":1,"a":1,"a":2}'
    assert 'duplicate field "a", unknown field "typo"' in _refusal(raw, decoder, field_validation="Strict")


def test_duplicate_yaml_key_is_reported_once():
    raw = b"data:\n  k: v\n  k: w\n"
    assert "already set in map" in _refusal(raw, media_type="application/yaml", field_validation="Strict")
    assert _read(raw, media_type="application/yaml", field_validation="Ignore")["data"] == {"k": "w"}


def test_strict_decoding_of_yaml_reports_unknown_fields_in_key_order():
    raw = b"z: 1\nmetadata: {x: 1, v: 1}\na: 1\n"
    complaints = ", ".join(f'unknown field "{path}"' for path in ("a", "metadata.v", "metadata.x", "z"))
    refusal = _refusal(raw, media_type="application/yaml", field_validation="Strict")
    assert refusal.endswith(f"strict decoding error: {complaints}")


def test_decode_of_yaml_reports_the_first_error_in_key_order():
    raw = b"metadata: {name: 1}\ndata: 1\n"
    assert "field ConfigMap.data of type" in _refusal(raw, media_type="application/yaml")


def test_decode_accepts_any_fields_without_a_struct():
    decoder = ObjectDecoder("Thing", "example.com/v1", None, is_custom=True)
    raw = b'{"apiVersion":"example.com/v1","kind":"Thing","any":[1]}'
    assert _read(raw, decoder)["any"] == [1]
    tree = {"x": 1, "kind": "Thing", "apiVersion": "example.com/v1"}
    assert decoder.decode_tree(dict(tree))[0] == {**tree, "metadata": {}}


@pytest.mark.parametrize(
    ("raw", "code", "text"),
    [
        (
            b'{"apiVersion":"e.com/v1"}',
            400,
            (
                "the object provided is unrecognized (must be of type Thing): Object 'Kind' is missing in "
                """'{"apiVersion":"e.com/v1"}' ({"apiVersion":"e.com/v1"})"""
            ),
        ),
        (
            b'{"kind":"Thing"}',
            400,
            "the API version in the data () does not match the expected API version (example.com/v1)",
        ),
        (
            b'{"kind":"Thing","apiVersion":"example.com/v2"}',
            400,
            "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)",
        ),
    ],
)
def test_custom_object_requires_kind_and_api_version(raw, code, text):
    decoder = ObjectDecoder("Thing", "example.com/v1", None, is_custom=True)
    with pytest.raises(StatusError) as caught:
        _read(raw, decoder)
    assert caught.value.code == code
    assert caught.value.message.endswith(text)


def _typo(tree):
    return dict(tree), ["typo"]


def test_custom_object_of_another_kind_is_decoded_without_unknown_fields_and_left_to_the_strategy():
    decoder = ObjectDecoder("Thing", "example.com/v1", _typo, is_custom=True)
    raw = b'{"kind":"Other","apiVersion":"example.com/v1","typo":1}'
    assert _read(raw, decoder, field_validation="Strict")["kind"] == "Other"


@pytest.mark.parametrize(
    ("tree", "code", "text"),
    [
        ({"kind": "Thing"}, 500, "Object 'apiVersion' is missing in 'object has no apiVersion field'"),
        (
            {"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}},
            422,
            'Thing "a" is invalid: apiVersion: Invalid value: "v1": must be example.com/v1',
        ),
        (
            {"kind": "Other", "apiVersion": "x.com/v1", "metadata": {"name": "a"}},
            422,
            'apiVersion: Invalid value: "x.com/v1": must be example.com/v1]',
        ),
    ],
)
def test_patched_custom_object_of_another_version_is_rejected(tree, code, text):
    with pytest.raises(StatusError) as caught:
        ObjectDecoder("Thing", "example.com/v1", None, is_custom=True).decode_tree(tree)
    assert caught.value.code == code
    assert caught.value.message.endswith(text)


def test_patched_custom_object_requires_a_kind():
    with pytest.raises(DecodeError, match=r"Object 'Kind' is missing in '\{\"apiVersion\":\"example.com/v1\"\}'"):
        ObjectDecoder("Thing", "example.com/v1", None, is_custom=True).decode_tree({"apiVersion": "example.com/v1"})


def test_patched_custom_object_of_another_version_is_accepted_where_the_type_is_reset():
    decoder = ObjectDecoder("Thing", "example.com/v1", _typo, is_custom=True, is_type_reset=True)
    decoded, unknown = decoder.decode_tree({"kind": "Other", "apiVersion": "v1"})
    assert (decoded["kind"], decoded["apiVersion"], unknown) == ("Thing", "example.com/v1", [])


def test_patched_tree_of_another_kind_is_rejected():
    with pytest.raises(DecodeError, match="no kind"):
        _decoder().decode_tree({"kind": "Nothing"})
    with pytest.raises(DecodeError, match="cannot unmarshal array"):
        _decoder().decode_tree([])  # type: ignore[arg-type]


def test_decode_keeps_empty_managed_fields():
    assert _read(b'{"metadata":{"managedFields":[]}}')["metadata"] == {"managedFields": []}
    assert _read(b'{"metadata":{"managedFields":null}}')["metadata"] == {}


def test_lists_without_omitempty_stay_empty_until_dropped():
    decoder = _decoder("EndpointSlice", "discovery.k8s.io", "v1")
    tree = _read(b'{"endpoints":[],"addressType":"IPv4"}', decoder)
    assert (tree["endpoints"], tree["ports"]) == ([], None)
    drop_empty_lists(tree, decoder.empty_lists)
    assert tree["endpoints"] is None
