from __future__ import annotations

import pytest

from steersman.cel.words import RESERVED, is_name


@pytest.mark.parametrize(
    ("text", "well_formed"), [("a", True), ("_a1", True), ("1a", False), ("a-b", False), ("", False)]
)
def test_is_name_accepts_identifiers(text: str, well_formed: bool) -> None:
    assert is_name(text) is well_formed


def test_reserved_words_are_identifiers() -> None:
    assert len(RESERVED) == 21
    assert all(map(is_name, RESERVED))
