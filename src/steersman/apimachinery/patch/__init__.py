"""Patches that need no schema: JSON patch (RFC 6902) and JSON merge patch (RFC 7386).

Promises, checked by the tests: neither the object nor the patch is mutated, and the result shares no dict or list with
either. ``create_json_patch`` is the reverse, whose operations share values with the new version.
"""

from steersman.apimachinery.patch.json_diff import create_json_patch
from steersman.apimachinery.patch.json_patch import JSONPatch, apply_json_patch, parse_json_patch
from steersman.apimachinery.patch.merge_patch import apply_merge_patch, parse_merge_patch

__all__ = [
    "JSONPatch",
    "apply_json_patch",
    "apply_merge_patch",
    "create_json_patch",
    "parse_json_patch",
    "parse_merge_patch",
]
