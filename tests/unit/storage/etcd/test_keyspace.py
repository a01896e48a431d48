from __future__ import annotations

import pytest

from steersman.storage.etcd.keyspace import KeySpace

SAME = KeySpace(root="/registry", prefix="/registry")
MOVED = KeySpace(root="/registry", prefix="/clusters/a")


def test_keys_are_moved_below_the_prefix_and_back():
    assert MOVED.encode("/registry/pods/ns/a") == b"/clusters/a/pods/ns/a"
    assert MOVED.decode(b"/clusters/a/pods/ns/a") == "/registry/pods/ns/a"
    assert SAME.decode(SAME.encode("/registry/ä")) == "/registry/ä"


@pytest.mark.parametrize("key", [b"compact_rev_key", b"/clusters/b/pods/x", b"/clusters/a/\xff"])
def test_keys_outside_of_the_prefix_are_ignored(key):
    assert MOVED.decode(key) is None


def test_key_outside_the_root_is_refused():
    with pytest.raises(ValueError, match="outside"):
        MOVED.encode("/other/x")


def test_range_covers_the_prefix_after_a_key():
    assert MOVED.range_of("/registry/pods/") == (b"/clusters/a/pods/", b"/clusters/a/pods0")
    assert MOVED.range_of("/registry/pods/", start_after="/registry/pods/x") == (
        b"/clusters/a/pods/x\0",
        b"/clusters/a/pods0",
    )
    assert MOVED.range_of("") == (b"/clusters/a", b"/clusters/b")
    assert KeySpace().range_of("") == (b"\0", b"\0")
