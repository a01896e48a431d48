"""YAML decoding: raises DecodeError only; what it decodes is written as YAML and JSON and read back unchanged."""

from __future__ import annotations

from steersman.apimachinery.codec import MAX_DEPTH, DecodeError, decode_json, depth_of, encode
from steersman.apimachinery.yaml_codec import decode_yaml, encode_yaml

TOKENS = (b"---\n", b"- ", b": ", b"? ", b"&a ", b"*a", b"<<: ", b"!!str ", b"!!binary ", b"!!float ", b"!!int ", b"|\n", b">-\n", b"\n  ",
          b"{", b"}", b"[", b"]", b"'", b'"', b"~", b"yes", b"0x1f", b"017", b"1_000", b".inf", b".nan", b"1e400", b"%YAML 1.1\n", b"\xfe\xff",
          b"\t", b"#", b"2024-05-06", b"190:20:30", b"0b101", b"=", b"\x85", b"!x ")  # fmt: skip


def run(data: bytes) -> None:
    try:
        document = decode_yaml(data)
    except DecodeError:
        return
    tree = document.tree
    assert depth_of(tree) <= MAX_DEPTH
    document.strict_error()
    assert decode_json(encode(tree)) == tree
    written = encode_yaml(tree)
    again = decode_yaml(written)
    assert again.tree == tree, (tree, written, again.tree)
    assert not again.duplicates
