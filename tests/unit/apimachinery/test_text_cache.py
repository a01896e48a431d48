import pytest

from steersman.apimachinery.text_cache import text_cache


def test_text_cache_caches_short_texts_only():
    calls = []

    @text_cache(2, length_max=3)
    def length(text):
        calls.append(text)
        return len(text)

    assert [length("abc"), length("abc"), length("abcd"), length("abcd")] == [3, 3, 4, 4]
    assert calls == ["abc", "abcd", "abcd"]


def test_text_cache_is_cleared_when_it_is_full():
    calls = []

    @text_cache(2, length_max=3)
    def length(text):
        calls.append(text)
        return len(text)

    assert [length(text) for text in ("a", "b", "a", "c", "a", "c")] == [1] * 6
    assert calls == ["a", "b", "c", "a"]


def test_text_cache_does_not_cache_errors_and_none():
    calls = []

    @text_cache(2, length_max=3)
    def find(text):
        calls.append(text)
        if text == "bad":
            raise ValueError(text)

    for text in ("bad", "bad"):
        with pytest.raises(ValueError, match="bad"):
            find(text)
    assert (find("a"), find("a")) == (None, None)
    assert calls == ["bad", "bad", "a", "a"]
