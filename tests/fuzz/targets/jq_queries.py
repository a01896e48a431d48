"""jq queries: compiling raises QuerySyntaxError only, running QueryError only; at most as many results as the bound allows."""

from __future__ import annotations

from itertools import islice

from tests.fuzz.choices import Choices
from tests.fuzz.targets.go_templates import OBJECTS

from steersman.apimachinery.trees import copy_tree
from steersman.nodes.kwok.jq import QueryError, QuerySyntaxError, compile_query

WORDS = (".", ".a", ".b", '."c"', ".[]", "[0]", "[-1]", '["a"]', "[]", "?", "|", ",", "//", "+", "-", "==", "!=", "<", ">=", " and ", " or ", "not", "(", ")",
         "select(", "map(", "any(", "all(", "first(", "length", "has(", "keys", "contains(", "tostring", "tonumber", "test(", "startswith(", "empty", "null",
         "true", "1", "-1", "1.5", '"a"', '"\\ud800"', '"\\u00', "1e999", "[1,2]", "[.[]]", "if", "{", "}", ".metadata.name", "..", " ", "9" * 5000, "recurse",
         "add", "tojson", "type", "join(", "split(", "fromjson", "now", "sort", "unique")  # fmt: skip
TOKENS = tuple(word.encode() for word in WORDS if len(word) < 60)
RESULTS_MAX = 2000


def run(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape") if data[:1] >= b" " else _sentence(Choices(data[1:]))
    try:
        query = compile_query(text)
    except QuerySyntaxError as error:
        assert str(error)
        return
    for obj in OBJECTS:
        before = copy_tree(obj)
        try:
            list(islice(query(obj), RESULTS_MAX))
        except QueryError as error:
            assert str(error)
        assert obj == before


def _sentence(choices: Choices) -> str:
    return "".join(choices.pick(WORDS) for _ in range(choices.below(24)))
