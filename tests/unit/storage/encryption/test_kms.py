"""Envelope encryption of KMS v2: keys, their rotation, and stored values."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.storage.encryption.plugin import Plugin

from steersman.asynckit.clock import FakeClock
from steersman.storage.encryption.ciphers import AesGcm
from steersman.storage.encryption.kms import (
    AES_GCM_KEY,
    WRITE_TTL_SECONDS,
    EncryptedKey,
    EnvelopeTransformer,
    KMSUnavailableError,
    decode_object,
    encode_object,
)
from steersman.storage.encryption.transformers import DataKeyUnknownError, DecryptionError

KEY = EncryptedKey(b"key", "1", (("a.example.com", b"x"), ("b.example.com", b"")))


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def plugin():
    return Plugin()


async def transformer_of(plugin, clock, **options):
    transformer = EnvelopeTransformer("test", plugin, clock=clock, **options)
    await transformer.probe()
    return transformer


def message():
    """Return ``EncryptedObject`` of ``google.protobuf``, from upstream's api.proto."""
    file = descriptor_pb2.FileDescriptorProto(name="kmsv2.proto", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto
    entity = file.message_type.add(name="EncryptedObject")
    entity.field.add(name="encryptedData", number=1, type=field.TYPE_BYTES, label=1)
    entity.field.add(name="keyID", number=2, type=field.TYPE_STRING, label=1)
    entity.field.add(name="encryptedDEKSource", number=3, type=field.TYPE_BYTES, label=1)
    entry = entity.nested_type.add(name="AnnotationsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=1)
    entry.field.add(name="value", number=2, type=field.TYPE_BYTES, label=1)
    entity.field.add(
        name="annotations", number=4, type=field.TYPE_MESSAGE, label=3, type_name=".EncryptedObject.AnnotationsEntry"
    )
    entity.field.add(name="encryptedDEKSourceType", number=5, type=field.TYPE_INT32, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("EncryptedObject"))


def test_stored_object_is_upstreams_message():
    decoded = message().FromString(encode_object(KEY, b"data"))
    assert (decoded.encryptedData, decoded.keyID, decoded.encryptedDEKSource) == (b"data", "1", b"key")
    assert dict(decoded.annotations) == {"a.example.com": b"x", "b.example.com": b""}
    assert decoded.encryptedDEKSourceType == 1
    assert decode_object(decoded.SerializeToString()) == (KEY, b"data")


@given(
    data=st.binary(min_size=1), key=st.binary(min_size=1, max_size=50), key_id=st.text(min_size=1, max_size=20),
    notes=st.dictionaries(st.text(max_size=5), st.binary(max_size=5), max_size=3), source=st.sampled_from([0, 1]),
)  # fmt: skip
def test_object_is_decoded_to_what_was_encoded(data, key, key_id, notes, source):
    encrypted = EncryptedKey(key, key_id, tuple(sorted(notes.items())), source)
    assert decode_object(encode_object(encrypted, data)) == (encrypted, data)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xff", "invalid wire-format data"),
        (encode_object(KEY, b""), "encrypted data is empty"),
        (encode_object(EncryptedKey(b"", "1"), b"x"), "encrypted DEK source is empty"),
        (encode_object(EncryptedKey(b"k" * 1025, "1"), b"x"), "encrypted DEK source is 1025 bytes, which exceeds the max size of 1024"),
        (encode_object(EncryptedKey(b"k", ""), b"x"), "keyID is empty"),
        (encode_object(EncryptedKey(b"k", "1", (), 7), b"x"), "unknown encryptedDEKSourceType: 7"),
        (encode_object(EncryptedKey(b"k", "1", (("a", b"x" * 40000),)), b"x"), "total size of annotations is 40001"),
    ],
)  # fmt: skip
def test_invalid_objects_are_rejected(raw, message):
    with pytest.raises(DecryptionError) as raised:
        decode_object(raw)
    assert message in str(raised.value)


async def test_own_values_are_decrypted_without_the_plugin(plugin, clock):
    transformer = await transformer_of(plugin, clock)
    value = transformer.encrypt(b"secret", b"k")
    assert transformer.decrypt(value, b"k") == (b"secret", False)
    assert plugin.calls == ["status", "encrypt"]


async def test_values_of_another_process_need_the_plugin_once(plugin, clock):
    value = (await transformer_of(plugin, clock)).encrypt(b"secret", b"k")
    other = await transformer_of(plugin, clock)
    plugin.calls.clear()
    with pytest.raises(DataKeyUnknownError) as missing:
        other.decrypt(value, b"k")
    await missing.value.load()
    assert other.decrypt(value, b"k") == (b"secret", False)
    assert plugin.calls == ["decrypt"]


async def test_values_of_a_data_key_without_derivation_are_read_and_stale(plugin, clock):
    transformer = await transformer_of(plugin, clock)
    key = EncryptedKey(bytes(32)[::-1], "1", (("a.example.com", b"\x00note"),), AES_GCM_KEY)
    value = encode_object(key, AesGcm(bytes(32)).encrypt(b"secret", b"k"))
    with pytest.raises(DataKeyUnknownError) as missing:
        transformer.decrypt(value, b"k")
    await missing.value.load()
    assert transformer.decrypt(value, b"k") == (b"secret", True)


async def test_new_key_id_makes_a_new_data_key_and_older_values_stale(plugin, clock):
    changes = []
    transformer = await transformer_of(plugin, clock, on_key_change=lambda: changes.append(1))
    value = transformer.encrypt(b"secret", b"k")
    plugin.key_id = "2"
    await transformer.probe()
    assert transformer.decrypt(value, b"k") == (b"secret", True)
    assert decode_object(transformer.encrypt(b"x", b"k"))[0].key_id == "2"
    assert changes == [1]


async def test_same_key_id_keeps_the_data_key(plugin, clock):
    transformer = await transformer_of(plugin, clock)
    await transformer.probe()
    assert plugin.calls == ["status", "encrypt", "status"]


async def test_writes_fail_three_minutes_after_the_last_successful_probe_and_reads_do_not(plugin, clock):
    transformer = await transformer_of(plugin, clock)
    value = transformer.encrypt(b"secret", b"k")
    plugin.is_down = True
    await clock.advance(WRITE_TTL_SECONDS + 1)
    with pytest.raises(KMSUnavailableError, match="expired"):
        transformer.encrypt(b"secret", b"k")
    assert transformer.decrypt(value, b"k") == (b"secret", False)


async def test_write_without_a_data_key_fails(plugin, clock):
    transformer = EnvelopeTransformer("test", plugin, clock=clock)
    with pytest.raises(KMSUnavailableError, match="got unexpected nil transformer"):
        transformer.encrypt(b"secret", b"k")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"healthz": "sick"}, "got unexpected healthz status: sick"),
        ({"version": "v3"}, "expected KMSv2 API version v2, got v3"),
        ({"key_id": ""}, "keyID is empty"),
        ({"is_down": True}, "failed to perform status section of the healthz check for KMS Provider test"),
    ],
)
async def test_probe_reports_what_is_wrong_with_the_plugin(plugin, clock, change, message):
    for name, value in change.items():
        setattr(plugin, name, value)
    with pytest.raises(KMSUnavailableError) as raised:
        await EnvelopeTransformer("test", plugin, clock=clock).probe()
    assert message in str(raised.value)


async def test_check_repeats_a_failure_for_three_seconds(plugin, clock):
    transformer = await transformer_of(plugin, clock)
    plugin.is_down = True
    await clock.advance(21)
    for _ in range(2):
        with pytest.raises(KMSUnavailableError):
            await transformer.check()
    assert plugin.calls.count("status") == 2
    plugin.is_down = False
    await clock.advance(4)
    await transformer.check()
