"""Parsing of image names, as far as the default pull policy needs it."""

from __future__ import annotations

import re
from typing import Final

_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}\Z")
_DOMAIN_PART: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"(?P<name>{_DOMAIN}/{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<algorithm>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*):(?P<hex>[0-9a-fA-F]{32,}))?\Z"
)
#: Length in hexadecimal digits, by digest algorithm.
_DIGEST_LENGTHS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_NAME_LENGTH_MAX: Final = 255


def image_tag(image: str) -> str:
    """Return the image's tag: ``latest`` without tag and digest, empty with a digest only or for an invalid name.

    Grammar of ``distribution/reference``: a first component with a dot, a colon or an upper-case letter, or
    ``localhost``, is a registry; otherwise the default registry applies.
    """
    if _IDENTIFIER.match(image):
        return ""
    first, slash, rest = image.partition("/")
    if not slash or (not _names_a_registry(first)):
        first, rest = "docker.io", image
    match = _REFERENCE.match(f"{first}/{rest}")
    if match is None or len(match["name"]) > _NAME_LENGTH_MAX:
        return ""
    if match["algorithm"] is None:
        return match["tag"] or "latest"
    if _DIGEST_LENGTHS.get(match["algorithm"]) != len(match["hex"]) or match["hex"] != match["hex"].lower():
        return ""
    return match["tag"] or ""


def _names_a_registry(part: str) -> bool:
    return "." in part or ":" in part or part == "localhost" or part != part.lower()


def default_pull_policy(image: str) -> str:
    """Return the default pull policy: Always for the tag ``latest``, else IfNotPresent."""
    last = image[image.rfind("/") + 1 :]
    has_other_tag = ":" in last and "@" not in last and not last.endswith(":latest")
    return "Always" if not has_other_tag and image_tag(image) == "latest" else "IfNotPresent"
