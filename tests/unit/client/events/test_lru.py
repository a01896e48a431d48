from steersman.client.events.lru import LruDict


def test_lru_dict_evicts_the_least_recently_used_entry():
    entries = LruDict(2)
    entries.put("a", 1)
    entries.put("b", 2)
    assert entries.get("a") == 1
    entries.put("c", 3)
    assert [entries.get(key) for key in "abc"] == [1, None, 3]
    assert len(entries) == 2


def test_lru_dict_put_counts_as_use():
    entries = LruDict(2)
    for key in "aba":
        entries.put(key, key)
    entries.put("c", "c")
    assert entries.get("b") is None
