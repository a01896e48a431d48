"""Warning headers."""

import pytest

from steersman.client.warnings import parse_warnings


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        ('299 - "old"', ["old"]),
        ('299 - "a, b", 299 k8s "say \\"c\\""', ["a, b", 'say "c"']),
        ('299 - "old" "Wed, 21 Oct 2026 07:28:00 GMT"', ["old"]),
        ('110 - "stale"', []),
        ("nonsense", []),
        ("", []),
    ],
)
def test_parse_warnings_returns_texts_of_code_299(header, texts):
    assert parse_warnings(header) == texts
