import gc

from steersman.apimachinery.cache_sizes import CacheSize, cache_sizes


def test_cache_sizes_sums_live_caches_by_name():
    first, second = CacheSize("test"), CacheSize("test")
    first.size_bytes, second.size_bytes = 3, 4
    assert cache_sizes()["test"] == 7
    del second
    gc.collect()
    assert cache_sizes()["test"] == 3
