from __future__ import annotations

import pytest

from steersman.storage import transaction
from steersman.storage.store import Check, Delete, KeyValue, Put
from steersman.storage.transaction import CheckFailedError, changes_of

PRESENT = {"/a": KeyValue("/a", b"1", 3, 5)}


def test_changes_of_omits_operations_without_effect():
    put, delete = Put("/b", b"1"), Delete("/a")
    assert changes_of([Check("/c", 0), put, Delete("/none"), delete], PRESENT) == [put, delete]


@pytest.mark.parametrize(
    "op", [Put("/a", b"", 0), Put("/a", b"", 4), Put("/b", b"", 5), Delete("/a", 4), Delete("/b", 1), Check("/a", 0)]
)
def test_changes_of_names_the_failed_expectation(op):
    with pytest.raises(CheckFailedError) as caught:
        changes_of([Put("/c", b""), op], PRESENT)
    assert caught.value.key == op.key


@pytest.mark.parametrize("op", [Put("/a", b"", 5), Put("/b", b"", 0), Delete("/a", 5), Delete("/b", 0), Check("/b", 0)])
def test_changes_of_accepts_met_expectations(op):
    changes_of([op], PRESENT)


def test_changes_of_rejects_oversized_values(monkeypatch):
    monkeypatch.setattr(transaction, "VALUE_BYTES_MAX", 10)
    with pytest.raises(ValueError, match="11 bytes"):
        changes_of([Put("/a", b"x" * 11)], PRESENT)
