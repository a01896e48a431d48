from __future__ import annotations

import pytest

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.resource.shared.cel_selectors import check_selector

ATTRIBUTE = "device.attributes['x.example.com'].a"


@pytest.mark.parametrize(
    ("expression", "told"),
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
def test_selectors(expression, told):
    assert list(map(str, check_selector(expression, Path("here")))) == told
