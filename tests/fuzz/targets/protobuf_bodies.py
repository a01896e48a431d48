"""Protobuf decoding: raises DecodeError only; what it decodes can be decoded into the Go type or is rejected with DecodeError."""

from __future__ import annotations

from tests.fuzz.choices import Choices

from steersman.apimachinery.codec import DecodeError, encode
from steersman.apimachinery.protowire import length_delimited, string
from steersman.schema import decoding, protobuf
from steersman.schema.loader import struct_for

TOKENS = (
    b"k8s\x00",
    b"\x0a\x02v1",
    b"\x12\x03Pod",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x0a\x00",
    b"\x12\x00",
    b"\x1a\x00",
    b"\x10\x01",
)

KINDS = (("", "v1", "Pod"), ("", "v1", "Secret"), ("apps", "v1", "Deployment"), ("", "v1", "Event"), ("coordination.k8s.io", "v1", "Lease"),
         ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), ("authorization.k8s.io", "v1", "SubjectAccessReview"),
         ("resource.k8s.io", "v1", "ResourceSlice"), ("networking.k8s.io", "v1", "NetworkPolicy"),
         ("autoscaling", "v2", "HorizontalPodAutoscaler"), ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
         ("", "v1", "DeleteOptions"))  # fmt: skip


def run(data: bytes) -> None:
    body = data if data.startswith(protobuf.MAGIC) else _body(Choices(data))
    try:
        tree = protobuf.decode_body(body)
        group, _, version = tree["apiVersion"].rpartition("/")
        decoded = decoding.decode(struct_for(group, version, tree["kind"]), tree)
    except DecodeError:
        return
    encode(decoded.tree)


def _body(choices: Choices) -> bytes:
    """Return a valid envelope of a kind around drawn fields, most of which have numbers of the kind's own."""
    group, version, kind = choices.pick(KINDS)
    type_meta = string(1, f"{group}/{version}" if group else version) + string(2, kind)
    return protobuf.MAGIC + length_delimited(1, type_meta) + length_delimited(2, draw_message(choices, 8))


def draw_message(choices: Choices, depth: int) -> bytes:
    """Return a message whose fields have any numbers and forms."""
    fields = []
    for _ in range(choices.below(6)):
        number = choices.below(24) + 1
        form = choices.below(5)
        if form == 0:
            fields.append(bytes([number << 3 & 0x7F, choices.byte() & 0x7F]))
        elif form == 1:
            fields.append(string(number, choices.text()))
        elif form == 2 and depth:
            fields.append(length_delimited(number, draw_message(choices, depth - 1)))
        elif form == 3:
            fields.append(length_delimited(number, choices.bytes(choices.below(12))))
        else:
            fields.append(choices.bytes(choices.below(6)))
    return b"".join(fields)
