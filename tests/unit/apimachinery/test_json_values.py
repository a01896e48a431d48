import json

from steersman.apimachinery.json_values import NumberText, Pairs


def test_number_text_keeps_its_text():
    number = NumberText("1.50e3")
    assert number == 1500.0
    assert number.text == "1.50e3"


def test_pairs_keeps_duplicate_keys():
    pairs = json.loads('{"a": 1, "b": {"c": 2}, "a": 3}', object_pairs_hook=Pairs)
    assert [key for key, _ in pairs] == ["a", "b", "a"]
    assert isinstance(pairs[1][1], Pairs)
