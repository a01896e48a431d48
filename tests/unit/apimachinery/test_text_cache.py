from steersman.apimachinery.text_cache import text_and_options_cache, text_cache


def test_text_cache_caches_short_texts_only():
    calls = []

    @text_cache(2, length_max=3)
    def length(text):
        calls.append(text)
        return len(text)

    assert [length("abc"), length("abc"), length("abcd"), length("abcd")] == [3, 3, 4, 4]
    assert calls == ["abc", "abcd", "abcd"]


def test_text_and_options_cache_distinguishes_further_arguments():
    calls = []

    @text_and_options_cache(3, length_max=3)
    def length(text, more=0):
        calls.append((text, more))
        return len(text) + more

    assert [length("abc"), length("abc", 1), length("abc", more=1), length("abc")] == [3, 4, 4, 3]
    assert [length("abcd"), length("abcd")] == [4, 4]
    assert calls == [("abc", 0), ("abc", 1), ("abc", 1), ("abcd", 0), ("abcd", 0)]
