"""Hashes in names: short, deterministic, and free of accidental words."""

from __future__ import annotations

from typing import Final

#: Alphabet of generated names, without vowels and similar characters, so that no words appear.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


def fnv1a_32(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash."""
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def fnv1_32(data: bytes) -> int:
    """Return the 32-bit FNV-1 hash."""
    value = 0x811C9DC5
    for byte in data:
        value = ((value * 0x01000193) & 0xFFFFFFFF) ^ byte
    return value


def safe_encoded(text: str) -> str:
    """Map each character to the alphabet of generated names. Upstream: ``rand.SafeEncodeString``."""
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in text.encode())
