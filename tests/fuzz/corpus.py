"""The stored corpus of each fuzzing target, and inputs derived from it for hypothesis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy
    from tests.fuzz.targets import Target

FOLDER = Path(__file__).parent / "corpus"
#: Longer inputs find nothing that shorter ones do not, and take longer.
SIZE_MAX = 4096


def files(name: str) -> list[Path]:
    """Return the corpus files of a target, sorted by name."""
    return sorted(path for path in (FOLDER / name).glob("*") if path.is_file())


def inputs(target: Target) -> SearchStrategy[bytes]:
    """Return a strategy of arbitrary bytes, sequences of tokens, and corpus files with a few edits."""
    stored = [path.read_bytes() for path in files(target.name)]
    strategies = [st.binary(max_size=256)]
    if target.tokens:
        strategies.append(st.lists(st.sampled_from(target.tokens), max_size=24).map(b"".join))
    if stored:
        strategies.append(_edited(stored, target.tokens or (b"",)))
    return st.one_of(strategies)


@st.composite
def _edited(draw: DrawFn, stored: list[bytes], tokens: tuple[bytes, ...]) -> bytes:
    data = draw(st.sampled_from(stored))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 16)))
        new = draw(st.one_of(st.sampled_from(tokens), st.binary(max_size=8), st.just(data[start:stop] * 2)))
        data = data[:start] + new + data[stop:]
    return data[:SIZE_MAX]
