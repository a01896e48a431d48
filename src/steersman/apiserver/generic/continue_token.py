"""Continue tokens of paged lists: start key and resource version of the next page, encoded as upstream's."""

from __future__ import annotations

import base64
import posixpath
import re
from typing import Final

import msgspec

from steersman.apimachinery.codec import DecodeError, decode_json, encode
from steersman.apimachinery.errors import StatusError, bad_request
from steersman.apimachinery.gotext import quote

_VERSION: Final = "meta.k8s.io/v1"
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")


class Continue(msgspec.Struct, frozen=True):
    """Start position of a page."""

    #: First key of the page, relative to the prefix of the list.
    start: str
    #: Resource version of all pages; negative: the newest.
    revision: int


def encode_continue(start: str, revision: int) -> str:
    """Return the continue token of a position."""
    raw = encode({"v": _VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode_continue(token: str) -> Continue:
    """Return the position of a continue token. Raises 400 for an invalid one."""
    tree = _tree(token)
    version, revision, start = tree.get("v", ""), tree.get("rv", 0), tree.get("start", "")
    if version != _VERSION:
        raise _invalid(f"server does not recognize this encoded version {quote(str(version))}")
    if not isinstance(revision, int) or not isinstance(start, str) or isinstance(revision, bool):
        raise _invalid("a field has a wrong type")
    if revision == 0:
        raise _invalid(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _invalid(f"encoded start key empty (version {_VERSION})")
    rooted = start if start.startswith("/") else f"/{start}"
    if rooted.startswith("//") or posixpath.normpath(rooted) != rooted:
        # The token would leave the prefix of the list.
        raise _invalid(start)
    return Continue(rooted[1:], revision)


def _tree(token: str) -> dict[str, object]:
    foreign = _FOREIGN.search(token)
    if foreign is not None or len(token) % 4 == 1:
        at = foreign.start() if foreign is not None else len(token) - 1
        raise _invalid(f"illegal base64 data at input byte {at}")
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    try:
        tree = decode_json(raw)
    except DecodeError as error:
        raise _invalid(str(error)) from None
    if not isinstance(tree, dict):
        raise _invalid("not an object")
    return tree


def _invalid(reason: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {reason}")
