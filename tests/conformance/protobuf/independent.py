"""Stored values decoded by ``google.protobuf``, which shares no code with Steersman's decoder."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from codegen.descriptors import descriptor_file, message_name
from codegen.protobuf import definition_name, facts
from google.protobuf import descriptor_pool, message_factory

from steersman.schema.protobuf_messages import fields_of

MAGIC = b"k8s\x00"
_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def messages() -> dict[str, Any]:
    """Return definition name → class of ``google.protobuf``."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor_file())
    return {
        definition_name(name): message_factory.GetMessageClass(pool.FindMessageTypeByName(message_name(name)))
        for name in facts()
    }


@cache
def _unknown() -> Any:
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name="unknown.proto", syntax="proto2")
    bytes_, text = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES, descriptor_pb2.FieldDescriptorProto.TYPE_STRING
    optional = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
    meta = file.message_type.add(name="TypeMeta")
    meta.field.add(name="apiVersion", number=1, type=text, label=optional)
    meta.field.add(name="kind", number=2, type=text, label=optional)
    unknown = file.message_type.add(name="Unknown")
    inner = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
    unknown.field.add(name="typeMeta", number=1, type=inner, type_name=".TypeMeta", label=optional)
    unknown.field.add(name="raw", number=2, type=bytes_, label=optional)
    unknown.field.add(name="contentEncoding", number=3, type=text, label=optional)
    unknown.field.add(name="contentType", number=4, type=text, label=optional)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Unknown"))


def stored_object(value: bytes, definition: str) -> tuple[str, str, dict[str, Any]]:
    """Return apiVersion, kind and tree of a stored value. The tree has zero values that JSON leaves out."""
    assert value.startswith(MAGIC)
    unknown = _unknown().FromString(value[len(MAGIC) :])
    assert (unknown.contentEncoding, unknown.contentType) == ("", "")
    message = messages()[definition].FromString(unknown.raw)
    return unknown.typeMeta.apiVersion, unknown.typeMeta.kind, tree_of(message, definition)


def tree_of(message: Any, definition: str) -> dict[str, Any]:
    """Return a message as JSON shows it, zero values included."""
    tree: dict[str, Any] = {}
    by_number = message.DESCRIPTOR.fields_by_number
    for field in fields_of(definition):
        descriptor = by_number[field.number]
        value = getattr(message, descriptor.name)
        if field.is_map:
            if value:
                tree[field.json_name] = {key: _value(value[key], field) for key in value}
        elif field.is_list:
            if value:
                tree[field.json_name] = [_value(item, field) for item in value]
        elif message.HasField(descriptor.name):
            if field.json_name:
                tree[field.json_name] = _value(value, field)
            else:
                tree.update(tree_of(value, field.message))
    return tree


def _value(value: Any, field: Any) -> Any:
    if field.message:
        return tree_of(value, field.message)
    match field.type:
        case "bytes":
            return base64.b64encode(value).decode()
        case "time" | "micro-time":
            return _time(value, micro=field.type == "micro-time")
        case "quantity":
            return value.string
        case "int-or-string":
            return value.strVal if value.type else value.intVal
        case "raw":
            import json

            raw = value.raw if hasattr(value, "raw") else value.Raw
            return json.loads(raw) if raw else None
        case "strings":
            return list(value.items)
        case "schema-or-bool":
            return tree_of(value.schema, _SCHEMA) if value.HasField("schema") else value.allows
        case "schema-or-array" | "schema-or-strings":
            assert not value.ListFields()[0][0].is_repeated, "the manifest has no lists of schemas"
            return tree_of(value.schema, _SCHEMA)
        case "duration":
            raise AssertionError("the manifest has no durations in objects")
        case _:
            return value


def _time(value: Any, *, micro: bool) -> str | None:
    if not value.ListFields():
        return None
    moment = _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{moment.microsecond:06d}Z" if micro else f"{text}Z"
