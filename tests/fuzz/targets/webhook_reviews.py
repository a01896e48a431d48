"""Answers of admission and conversion webhooks: rejected by the declared errors only, or converted objects and a patch that applies
or is refused. The first byte chooses the kind of review."""

from __future__ import annotations

import base64
from typing import Any

from tests.fuzz.choices import Choices
from tests.fuzz.targets.json_patches import draw_operation

from steersman.apimachinery.codec import DecodeError, decode_json, encode
from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.patch.json_patch import apply_json_patch, parse_json_patch
from steersman.apimachinery.reviews import ReviewDecodeError
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.admission import webhook_review
from steersman.apiserver.crd import conversion_review
from steersman.apiserver.webhooks.client import WebhookCallError, json_body
from steersman.apiserver.webhooks.connection import Answer
from steersman.schema.protobuf import encode_body

TOKENS = (b"A", b"a", b"C", b"c", b"E", b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",', b'"response":{"uid":"u",', b'"allowed":true',
          b'"status":{"code":403,"message":"m"}', b'"patchType":"JSONPatch"', b'"patch":"W10="', b'"warnings":["w"]', b'"auditAnnotations":{"a":"b"}',
          b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1",', b'"result":{"status":"Success"}', b'"convertedObjects":[{}]',
          b'"metadata":{"name":"a","uid":"1","labels":{"a":"b"}}', b'"apiVersion":"x.io/v2"', b"null", b"[]", b"{}", b"1e400", b"}}")  # fmt: skip
SOURCE = {"kind": "T", "apiVersion": "x.io/v1", "metadata": {"name": "a", "uid": "1", "labels": {"a": "b"}}, "spec": {"a": [1]}}  # fmt: skip


def run(data: bytes) -> None:
    form, body = data[:1], data[1:]
    if form in b"Aa":
        _read_admission(body, is_mutating=form == b"A")
    elif form in b"Cc":
        _read_conversion(body, "v1" if form == b"C" else "v1beta1")
    elif form == b"E":
        _read_failure(body)
    else:
        choices = Choices(data)
        _read_admission(encode(_admission(choices)), is_mutating=True)
        _read_conversion(encode(_conversion(choices)), "v1")


def _read_admission(body: bytes, *, is_mutating: bool) -> None:
    for version in ("v1", "v1beta1"):
        try:
            response = webhook_review.read_response(body, version=version, uid="u", is_mutating=is_mutating)
        except (ReviewDecodeError, webhook_review.InvalidResponseError) as error:
            encode(str(error))
            continue
        encode([response.warnings, response.annotations])
        _check_status(webhook_review.denial("w", response.status))
        if response.patch:
            before = copy_tree(SOURCE)
            try:
                patched = apply_json_patch(before, parse_json_patch(response.patch).operations)
            except (DecodeError, StatusError):
                continue
            finally:
                assert before == SOURCE
            assert decode_json(encode(patched)) == patched


def _read_conversion(body: bytes, version: str) -> None:
    try:
        converted = conversion_review.read_response(body, version=version, uid="u")
        for item in converted:
            tree = conversion_review.verified(SOURCE, item, api_version="x.io/v2")
            assert tree["metadata"]["name"] == "a"
            encode(tree)
    except (
        ReviewDecodeError,
        conversion_review.MalformedResponseError,
        conversion_review.InvalidObjectError,
    ) as error:
        encode(str(error))


def _read_failure(body: bytes) -> None:
    for content_type in ("application/json", "text/plain; charset=utf-8", "x"):
        try:
            json_body(Answer(500, content_type, body))
        except WebhookCallError as error:
            encode(str(error))
            if error.status is not None:
                _check_status(error.status)


def _check_status(error: StatusError) -> None:
    assert isinstance(error.message, str)
    encode(error.status)
    encode_body(error.status)


def _admission(choices: Choices) -> Any:
    operations = [draw_operation(choices) for _ in range(choices.below(5))]
    response = {"uid": "u", "allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(encode(operations)).decode()}  # fmt: skip
    for name in ("warnings", "auditAnnotations", "status", "uid", "allowed", "patchType", "patch"):
        if choices.one_in(8):
            response[name] = choices.tree(3)
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}


def _conversion(choices: Choices) -> Any:
    objects: list[Any] = []
    for _ in range(choices.below(4)):
        tree: Any = {**copy_tree(SOURCE), "apiVersion": "x.io/v2"}
        for name in ("metadata", "kind", "apiVersion", "spec"):
            if choices.one_in(8):
                tree[name] = choices.tree(3)
        if isinstance(tree["metadata"], dict):
            for name in ("name", "namespace", "uid", "labels", "annotations", "finalizers"):
                if choices.one_in(8):
                    tree["metadata"][name] = choices.tree(2)
        objects.append(tree if not choices.one_in(16) else choices.tree(2))
    response = {"uid": "u", "result": {"status": "Success"}, "convertedObjects": objects}
    for name in ("uid", "result", "convertedObjects"):
        if choices.one_in(16):
            response[name] = choices.tree(3)
    return {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response}
