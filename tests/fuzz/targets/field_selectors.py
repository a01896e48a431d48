"""Field selectors: raise SelectorError only; the text form parses to the same requirements."""

from __future__ import annotations

from steersman.apimachinery.selectors import SelectorError, parse_field_selector

TOKENS = (b"=", b"==", b"!=", b",", b"\\,", b"\\=", b"\\\\", b"metadata.name", b"spec.nodeName=", b"\x00")


def run(data: bytes) -> None:
    try:
        selector = parse_field_selector(data.decode("utf-8", "surrogateescape"))
    except SelectorError:
        return
    again = parse_field_selector(str(selector))
    assert sorted(again.requirements) == sorted(selector.requirements), (str(selector), again.requirements)
    fields = {requirement.field: requirement.value for requirement in selector.requirements}
    assert again.matches(fields) == selector.matches(fields)
