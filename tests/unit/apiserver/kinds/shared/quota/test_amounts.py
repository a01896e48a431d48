from __future__ import annotations

from steersman.apiserver.kinds.shared.quota.amounts import minus, only, plus, read, shown, texts


def test_read_and_texts_round_trip():
    assert texts(read({"cpu": "1500m", "memory": "1Gi"})) == {"cpu": "1500m", "memory": "1Gi"}
    assert read(None) == {}


def test_plus_adds_by_name():
    total = plus(read({"cpu": "1", "pods": "1"}), read({"cpu": "500m", "memory": "1Mi"}))
    assert texts(total) == {"cpu": "1500m", "pods": "1", "memory": "1Mi"}


def test_minus_may_be_negative():
    assert texts(minus(read({"cpu": "1"}), read({"cpu": "3", "pods": "1"}))) == {"cpu": "-2", "pods": "-1"}


def test_only_selects_names():
    assert texts(only(read({"cpu": "1", "pods": "1"}), ["pods", "memory"])) == {"pods": "1"}


def test_shown_sorts_by_name():
    assert shown(read({"pods": "1", "cpu": "1"})) == "cpu=1,pods=1"
