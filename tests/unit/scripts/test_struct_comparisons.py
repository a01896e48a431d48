"""The check finds comparisons that the compiler turns into identity checks, and no others."""

import re

from scripts.struct_comparisons import findings

SOURCE = """
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple
import msgspec

class Seats(msgspec.Struct):
    count: int

class Equal(msgspec.Struct):
    count: int
    def __eq__(self, other: object) -> bool:
        return True

@dataclass
class Data:
    count: int

class Pair(NamedTuple):
    number: int

class Color(Enum):
    RED = 1

def compare(
    a: Seats, b: Seats, c: Seats | None, d: list[Seats], e: Equal, f: Pair, g: Color, h: tuple[str, Seats], i: Data
) -> list[bool]:
    return [
        a == b,  # found
        a != c,  # found
        h == h,  # found
        i == i,  # found
        a is b,
        a in d,
        e == e,
        f == f,
        g == g,
        a.count == b.count,
        c == None,
        h[0] in ("a", "b"),
    ]
"""


def test_findings_are_comparisons_of_structs_by_identity(tmp_path):
    path = tmp_path / "sample.py"
    path.write_text(SOURCE)
    expected = {number for number, line in enumerate(SOURCE.splitlines(), 1) if line.endswith("# found")}
    lines = {int(re.search(r":(\d+): ", text)[1]) for text in findings({"sample": path})}
    assert lines == expected


def test_findings_of_structs_of_modules_that_are_not_compiled(tmp_path):
    path, compiled = tmp_path / "plain.py", tmp_path / "compiled.py"
    path.write_text("import msgspec\n\nclass Seats(msgspec.Struct):\n    count: int\n")
    compiled.write_text(
        "import msgspec\n\ndef same(a: msgspec.Struct, b: msgspec.Struct) -> bool:\n    return a == b\n"
    )
    assert list(findings({"compiled": compiled})) == []
