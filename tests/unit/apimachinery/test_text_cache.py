from steersman.apimachinery.text_cache import text_cache


def test_text_cache_caches_short_texts_only():
    calls = []

    @text_cache(2, length_max=3)
    def length(text, more=0):
        calls.append(text)
        return len(text) + more

    assert [length("abc"), length("abc"), length("abcd"), length("abcd")] == [3, 3, 4, 4]
    assert length("abc", 1) == 4
    assert calls == ["abc", "abcd", "abcd", "abc"]
