"""Protobuf descriptors of all messages, for decoders that share no code with ours (``google.protobuf``).

Built from ``overlay/protobuf.json``, with field numbers and protobuf's own names and types, but without JSON names and
flags of fields that are always written. ``google.protobuf`` is in the test extra.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2

from codegen.protobuf import facts

_SCALARS = {
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    "double": descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
    "int32": descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
}


def descriptor_file() -> descriptor_pb2.FileDescriptorProto:
    """Return one proto2 file with every message, named with underscores: ``k8s_io_api_core_v1_Pod``."""
    file = descriptor_pb2.FileDescriptorProto(name="kubernetes.proto", syntax="proto2")
    for name, fields in facts().items():
        message = file.message_type.add(name=message_name(name))
        for field, (number, type_, *_) in fields.items():
            _add_field(message, field, number, type_, name.rpartition(".")[0])
    return file


def message_name(name: str) -> str:
    """Return the descriptor's name of a message."""
    return name.replace(".", "_")


def _add_field(message: Any, name: str, number: int, type_: str, package: str) -> None:
    field = message.field.add(name=name, number=number, label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL)
    if type_.startswith("map<"):
        entry_name = f"{name[:1].upper()}{name[1:]}Entry"
        entry = message.nested_type.add(name=entry_name)
        entry.options.map_entry = True
        _add_field(entry, "key", 1, "string", package)
        _add_field(entry, "value", 2, type_.removeprefix("map<string,").removesuffix(">"), package)
        field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{message.name}.{entry_name}"
        return
    if type_.startswith("repeated "):
        field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
        type_ = type_.removeprefix("repeated ")
    if type_ in _SCALARS:
        field.type = _SCALARS[type_]
        return
    field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
    field.type_name = "." + message_name(type_ if "." in type_ else f"{package}.{type_}")
