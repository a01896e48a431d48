"""Flags that can be set while a process runs: ``/debug/flags/v`` is the verbosity of its log.

Upstream: ``k8s.io/apiserver/pkg/server/routes`` (``flags.go``), ``logs.GlogSetter`` of ``k8s.io/component-base``.
"""

from __future__ import annotations

from typing import Final

from steersman.apimachinery.gotext import quote
from steersman.asynckit.log_levels import set_verbosity
from steersman.runtime.http import Page

PREFIX: Final = "/debug/flags"
VERBOSITY: Final = f"{PREFIX}/v"
_UINT32_MAX: Final = (1 << 32) - 1
_INDEX: Final = b"""<html>
<head>
<title>/debug/flags/</title>
</head>
<body>
/debug/flags/<br>
<br>
flags:<br>
<table>

<tr>v<br>

</table>
<br>
full flags configurable<br>
</body>
</html>
"""


def index_page() -> Page:
    """Return the list of the flags."""
    return Page(200, _INDEX, "text/html; charset=utf-8")


def verbosity_page(method: str, body: bytes) -> Page:
    """Set the verbosity to the number in the body of a PUT."""
    if method != "PUT":
        return _text(406, "unsupported http method")
    value = body.decode("utf-8", "replace")
    if not value.isascii() or not value.isdigit():
        return _text(400, f"strconv.ParseUint: parsing {quote(value)}: invalid syntax")
    if int(value) > _UINT32_MAX:
        return _text(400, f"strconv.ParseUint: parsing {quote(value)}: value out of range")
    set_verbosity(int(value))
    return _text(200, f"successfully set klog.logging.verbosity to {value}")


def _text(status: int, text: str) -> Page:
    return Page(status, f"{text}\n".encode(), "text/plain")
