"""Counts of encryption, and what plugins record."""

from __future__ import annotations

import pytest
from tests.unit.storage.encryption.plugin import Plugin

from steersman.asynckit.clock import FakeClock
from steersman.storage.encryption.kms import EnvelopeTransformer, KMSUnavailableError
from steersman.storage.encryption.metrics import EncryptionMetrics
from steersman.storage.encryption.transformers import DataKeyUnknownError


async def test_uses_of_keys_are_counted_with_the_time_of_the_last_one():
    clock, plugin = FakeClock(), Plugin()
    metrics = EncryptionMetrics(clock)
    transformer = EnvelopeTransformer("p", plugin, clock=clock, metrics=metrics)
    await transformer.probe()
    value = transformer.encrypt(b"1", b"k")
    await clock.advance(10)
    for _ in range(2):
        transformer.decrypt(value, b"k")
    (key_id,) = {key_id for _, _, key_id in metrics.key_uses}
    uses = {kind: (use.count, use.seconds) for (kind, _, _), use in metrics.key_uses.items()}
    now = clock.now().timestamp()
    assert uses == {"to_storage": (1, now - 10), "from_storage": (2, now)}
    assert metrics.key_statuses == {("p", key_id): now - 10}
    assert (metrics.generations.count, metrics.failed_generations, metrics.cache_misses) == (1, 0, 0)


async def test_number_of_keys_is_bounded_and_the_least_recently_used_is_dropped():
    metrics = EncryptionMetrics(FakeClock())
    for number in (*range(10), 0, 10):
        metrics.key_used("from_storage", "p", f"{number}")
        metrics.key_reported("p", f"{number}")
    expected = [*(f"{number}" for number in range(2, 10)), "0", "10"]
    assert [key_id for _, _, key_id in metrics.key_uses] == expected
    assert [key_id for _, key_id in metrics.key_statuses] == expected


@pytest.mark.parametrize(("key_id", "reason"), [("", "empty"), ("x" * 2000, "too_long")])
async def test_status_with_an_invalid_key_id_is_counted_by_reason(key_id, reason):
    plugin, metrics = Plugin(), EncryptionMetrics(FakeClock())
    plugin.key_id = key_id
    with pytest.raises(KMSUnavailableError):
        await EnvelopeTransformer("p", plugin, clock=FakeClock(), metrics=metrics).probe()
    assert metrics.invalid_key_ids == {("p", reason): 1}
    assert metrics.key_statuses == {}


async def test_data_key_that_the_plugin_must_decrypt_is_a_cache_miss():
    plugin, metrics = Plugin(), EncryptionMetrics(FakeClock())
    first = EnvelopeTransformer("p", plugin, clock=FakeClock())
    await first.probe()
    value = first.encrypt(b"1", b"k")
    second = EnvelopeTransformer("p", plugin, clock=FakeClock(), metrics=metrics)
    await second.probe()
    with pytest.raises(DataKeyUnknownError) as missing:
        second.decrypt(value, b"k")
    await missing.value.load()
    assert second.decrypt(value, b"k") == (b"1", False)
    assert metrics.cache_misses == 1
