"""Label selectors: raise SelectorError only; the text form parses to a selector with the same text and the same matches."""

from __future__ import annotations

from tests.fuzz.choices import Choices

from steersman.apimachinery.field import Path
from steersman.apimachinery.selectors import SelectorError, parse_label_selector
from steersman.apimachinery.selectors.labels import from_label_selector, validate_label_selector
from steersman.schema import decoding
from steersman.schema.loader import struct

TOKENS = (
    b" in ",
    b" notin ",
    b"!",
    b"=",
    b"==",
    b"!=",
    b">",
    b"<",
    b"(",
    b")",
    b",",
    b"a.b/c",
    b"()",
    b"\xc2\x85",
    b"9223372036854775808",
)
LABELS = ({}, {"a": "b"}, {"a": "1", "b": "2"}, {"a.b/c": ""}, {"in": "notin"}, {"a": "\x85"})
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "in", "", "Gt")
SELECTOR = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"


def run(data: bytes) -> None:
    _check_text(data.decode("utf-8", "surrogateescape"))
    _check_tree(Choices(data))


def _check_text(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except SelectorError:
        return
    again = parse_label_selector(str(selector))
    assert str(again) == str(selector)
    for labels in LABELS:
        assert again.matches(labels) == selector.matches(labels), (text, str(selector), labels)


def _check_tree(choices: Choices) -> None:
    """A selector of an object that validation accepts can be compiled."""
    expressions = [
        {
            "key": choices.text(),
            "operator": choices.pick(OPERATORS),
            "values": [choices.text() for _ in range(choices.below(3))],
        }
        for _ in range(choices.below(3))
    ]
    labels = {choices.text(): choices.text() for _ in range(choices.below(3))}
    tree = decoding.decode(struct(SELECTOR), {"matchLabels": labels, "matchExpressions": expressions}).tree
    errors = validate_label_selector(tree, Path("spec", "selector"))
    try:
        selector = from_label_selector(tree)
    except SelectorError as error:
        assert errors, error
        return
    for labels in LABELS:
        selector.matches(labels)
