import gc

from steersman.apimachinery.cache_sizes import CacheSize, cache_sizes


def test_caches_of_one_name_are_added_up_while_they_exist():
    first, second = CacheSize("test"), CacheSize("test")
    first.size_bytes, second.size_bytes = 3, 4
    assert cache_sizes()["test"] == 7
    del second
    gc.collect()
    assert cache_sizes()["test"] == 3
