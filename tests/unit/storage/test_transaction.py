from __future__ import annotations

import pytest

from steersman.storage import transaction
from steersman.storage.store import Check, Delete, KeyValue, Put
from steersman.storage.transaction import UnmetError, changes_of

PRESENT = {"/a": KeyValue("/a", b"1", 3, 5)}


def test_what_changes_nothing_is_left_out():
    put, delete = Put("/b", b"1"), Delete("/a")
    assert changes_of([Check("/c", 0), put, Delete("/none"), delete], PRESENT) == [put, delete]


@pytest.mark.parametrize(
    "op", [Put("/a", b"", 0), Put("/a", b"", 4), Put("/b", b"", 5), Delete("/a", 4), Delete("/b", 1), Check("/a", 0)]
)
def test_an_op_that_does_not_hold_is_named(op):
    with pytest.raises(UnmetError) as caught:
        changes_of([Put("/c", b""), op], PRESENT)
    assert caught.value.key == op.key


@pytest.mark.parametrize("op", [Put("/a", b"", 5), Put("/b", b"", 0), Delete("/a", 5), Delete("/b", 0), Check("/b", 0)])
def test_an_op_that_holds_passes(op):
    changes_of([op], PRESENT)


def test_a_value_out_of_proportion_is_refused(monkeypatch):
    monkeypatch.setattr(transaction, "VALUE_BYTES_MAX", 10)
    with pytest.raises(ValueError, match="11 bytes"):
        changes_of([Put("/a", b"x" * 11)], PRESENT)
