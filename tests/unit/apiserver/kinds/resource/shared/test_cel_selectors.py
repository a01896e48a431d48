from __future__ import annotations

import pytest

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.resource.shared.cel_selectors import check_selector

ATTRIBUTE = "device.attributes['x.example.com'].a"


@pytest.mark.parametrize(
    ("expression", "error_texts"),
    [
        ("device.driver == 'x'", []),
        (f"{ATTRIBUTE}", []),
        (f"{ATTRIBUTE}.matches('^a.*b$') && {ATTRIBUTE}.lowerAscii().startsWith('x')", []),
        ("1", ['here: Invalid value: "1": must evaluate to bool or the unknown type, not int']),
        (
            "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a != d))))",
            ["here: Forbidden: too complex, exceeds cost limit"],
        ),
    ],
)
def test_check_selector_rejects_invalid_expressions(expression, error_texts):
    assert list(map(str, check_selector(expression, Path("here")))) == error_texts
