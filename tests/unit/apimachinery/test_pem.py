"""PEM blocks, as Go finds them."""

import pytest

from steersman.apimachinery.pem import pem_blocks


def block(kind, body="AA==\n"):
    return f"-----BEGIN {kind}-----\n{body}-----END {kind}-----\n"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", []),
        ("nothing", []),
        (block("A"), ["A"]),
        (block("A").strip(), ["A"]),
        (block("A").replace("\n", "\r\n"), ["A"]),
        (block("A", ""), ["A"]),
        ("before\n" + block("A") + "between\n" + block("B C"), ["A", "B C"]),
        ("x" + block("A"), []),  # not at the start of a line
        (block("A").replace("END A", "END B"), []),
        ("-----BEGIN A-----\n" + block("B"), ["B"]),
        ("-----BEGIN A\n" + block("B"), ["B"]),
        ("-----BEGIN A-----\n-----END A----- x\n", []),
        ("-----BEGIN A-----", []),
        ("-----END A-----\n" + block("B"), ["B"]),
    ],
)
def test_pem_blocks_finds_the_blocks_of_go(text, kinds):
    assert [pem_block.type for pem_block in pem_blocks(text.encode())] == kinds


def test_pem_blocks_returns_body_and_text():
    (result,) = pem_blocks(b"a\n-----BEGIN A-----\nK: v\n\nAA==\n-----END A-----\nb\n")
    assert result.body == b"K: v\n\nAA==\n"
    assert result.text == b"-----BEGIN A-----\nK: v\n\nAA==\n-----END A-----"


class Searched(bytes):
    """Adds up the bytes that searches look at."""

    looked_at = 0

    def find(self, sub, start=0, end=None):
        result = super().find(sub, start, len(self) if end is None else end)
        Searched.looked_at += (result if result >= 0 else min(len(self), end or len(self))) - start
        return result


@pytest.mark.parametrize(
    "text",
    [
        b"-----BEGIN A-----\n" * 2_000,
        b"-----BEGIN A-----\n" * 2_000 + b"-----END B-----\n",
        b"-----BEGIN A-----\n-----END B-----\n" * 2_000,
        b"-----BEGIN A-----" + b"\n" * 20_000,
        b"-----BEGIN A-----\n-----END A-----" + b" " * 20_000,
        (b"-----BEGIN A-----\n-----END A-----" + b" " * 200 + b"x\n") * 200,
    ],
)
def test_pem_blocks_takes_linear_time(text):
    Searched.looked_at = 0
    list(pem_blocks(Searched(text)))
    assert Searched.looked_at < 8 * len(text)
