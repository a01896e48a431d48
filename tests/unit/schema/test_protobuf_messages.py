"""The table of messages. ``tests/conformance/protobuf`` compares it with the schema."""

import pytest

from steersman.schema.protobuf_messages import fields_of, has_message, message_names

PROBE = "io.k8s.api.core.v1.Probe"


def test_fields_of_are_in_order_of_their_numbers():
    for name in message_names():
        numbers = [field.number for field in fields_of(name)]
        assert numbers == sorted(set(numbers))


def test_fields_of_inlined_messages_have_no_json_name():
    handler = fields_of(PROBE)[0]
    assert (handler.json_name, handler.type, handler.message) == ("", "message", "io.k8s.api.core.v1.ProbeHandler")
    assert handler.written_always


def test_fields_of_lists_and_maps_have_item_types():
    fields = {field.json_name: field for field in fields_of("io.k8s.api.core.v1.Secret")}
    assert fields["data"].is_map
    assert fields["data"].type == "bytes"
    assert fields_of("io.k8s.api.core.v1.PodList")[1].is_list


def test_has_message_is_false_for_other_types():
    assert not has_message("io.k8s.api.core.v1.Nothing")
    with pytest.raises(KeyError):
        fields_of("io.k8s.api.core.v1.Nothing")
