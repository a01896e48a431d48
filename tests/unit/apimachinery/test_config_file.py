"""Strict decoding of configuration files."""

import msgspec
import pytest

from steersman.apimachinery.config_file import ConfigFileError, decode_config


class Item(msgspec.Struct, frozen=True, rename="camel"):
    short_name: str = ""
    size: int | None = None
    tags: dict[str, str] = {}


class Document(msgspec.Struct, frozen=True):
    items: tuple[Item, ...] = ()
    names: tuple[str, ...] = ()
    enabled: bool = False
    share: float = 0.0
    item: Item | None = None


HEAD = b"kind: Doc\napiVersion: x/v1\n"


def decode(text):
    return decode_config(HEAD + text, Document, kind="Doc", api_versions=("x/v1", "x/v2"))


def test_decode_config_reads_fields_by_their_json_names():
    text = b"items: [{shortName: a, size: 2, tags: {k: v}}]\nnames: [name]\nenabled: true\nshare: 1\nitem: {}\n"
    assert decode(text) == Document((Item("a", 2, {"k": "v"}),), ("name",), enabled=True, share=1.0, item=Item())


def test_decode_config_takes_null_as_absent():
    text = b"items: [null, {shortName: null, tags: {k: null}}]\nnames: [null]\nenabled: null\nitem: null\n"
    assert decode(text) == Document((Item(), Item()), ("",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"colour: red", 'strict decoding error: unknown field "colour"'),
        (b"items: [{shortname: a}]", 'strict decoding error: unknown field "items[0].shortname"'),
        (b"item: {kind: a}", 'strict decoding error: unknown field "item.kind"'),
        (b"items: {}", 'strict decoding error: field "items" must be a list'),
        (b"items: [a]", 'strict decoding error: field "items[0]" must be an object'),
        (b"items: [{tags: a}]", 'strict decoding error: field "items[0].tags" must be a map'),
        (b"names: [1]", 'strict decoding error: field "names[0]" must be a string'),
        (b"enabled: 1", 'strict decoding error: field "enabled" must be a boolean'),
        (b"item: {size: true}", 'strict decoding error: field "item.size" must be an integer'),
        (b"share: s\nenabled: s", 'field "share" must be a number, field "enabled" must be a boolean'),
        (
            b"enabled: true\nenabled: true",
            'strict decoding error: yaml: unmarshal errors:\n  line 4: key "enabled" already set in map',
        ),
        (b"x: [", "yaml"),
    ],
)
def test_decode_config_raises_for_other_contents(text, message):
    with pytest.raises(ConfigFileError) as refused:
        decode(text)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty config data"),
        (b"[]", 'no kind "" is registered for version ""'),
        (b"kind: Doc\napiVersion: x/v9", 'no kind "Doc" is registered for version "x/v9", expected Doc of x/v1'),
        (b"kind: Dog\napiVersion: x/v1", 'no kind "Dog" is registered for version "x/v1"'),
    ],
)
def test_decode_config_raises_for_other_kinds(data, message):
    with pytest.raises(ConfigFileError) as refused:
        decode_config(data, Document, kind="Doc", api_versions=("x/v1",))
    assert str(refused.value).startswith(message)
