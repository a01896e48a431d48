"""Hashes in names."""

from __future__ import annotations

from steersman.workloads.hashing import fnv1_32, fnv1a_32, safe_encoded


def test_fnv_hashes_equal_published_values():
    """Vectors of the FNV reference."""
    assert [fnv1a_32(text) for text in (b"", b"a", b"foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]
    assert [fnv1_32(text) for text in (b"", b"a", b"foobar")] == [0x811C9DC5, 0x050C5D7E, 0x31F0B262]


def test_safe_encoded_has_no_vowels():
    assert safe_encoded("0123456789") == "456789bcdf"
