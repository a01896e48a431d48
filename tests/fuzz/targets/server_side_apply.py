"""Server-side apply and updates over several managers: StatusError only; applying the same configuration twice changes nothing."""

from __future__ import annotations

from typing import Any

from tests.fuzz.choices import Choices, json_case

from steersman.apimachinery.codec import DecodeError, decode_json, encode
from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.managedfields import entries
from steersman.apimachinery.managedfields.applying import apply
from steersman.apimachinery.managedfields.updating import update
from steersman.apimachinery.trees import copy_tree
from steersman.schema import decoding
from steersman.schema.loader import struct_for

TOKENS = (
    b'"manager":',
    b'"force":true',
    b'"update"',
    b'"apply"',
    b'"spec":',
    b'"containers":[{"name":"a"}]',
    b'"ports":',
    b"null",
)
KINDS = (("apps", "v1", "Deployment"), ("", "v1", "Service"), ("", "v1", "ConfigMap"), ("", "v1", "Pod"))
MANAGERS = ("m", "n", "kubectl", "", "before-first-apply")
TIME = "2024-05-06T07:08:09Z"


def run(data: bytes) -> None:
    names, steps = json_case(data, 2, _draw)
    try:
        group, version, kind = names
        struct = struct_for(group, version, kind)
        steps = [(verb, manager, force, tree) for verb, manager, force, tree in steps]
    except (KeyError, TypeError, ValueError):  # an edited corpus file
        return
    api_version = f"{group}/{version}" if group else version
    live: dict[str, Any] | None = None
    for verb, manager, force, tree in steps:
        if not isinstance(tree, dict):
            continue
        tree = {**tree, "apiVersion": api_version, "kind": kind}
        stored = encode(live)
        try:
            if verb == "apply":
                live = _apply_twice(live, tree, struct, kind, manager, force)
            else:
                live = _update(live, tree, struct, manager)
        except (DecodeError, StatusError):
            assert encode(live) == stored


def _apply_twice(live: Any, config: Any, struct: Any, kind: str, manager: str, force: bool) -> Any:
    def decode(merged: Any) -> Any:
        decoded = decoding.decode(struct, merged).tree
        if decoded.get("metadata") is None:
            decoded["metadata"] = {}
        return decoded

    arguments = {
        "struct": struct,
        "kind": kind,
        "manager": str(manager),
        "api_version": config["apiVersion"],
        "time": TIME,
        "defaulter": decode,
    }
    config_before, before = encode(config), encode(live)
    created = apply(live, config, force=bool(force), **arguments)
    assert (encode(config), encode(live)) == (config_before, before)
    created = decode_json(encode(created))
    _check_owners(created)
    again = apply(copy_tree(created), config, force=False, **arguments)
    if b"null" not in config_before:  # a null key of a list item decodes to another one, upstream as well
        assert decode_json(encode(again)) == created, (created, again)
    return created


def _update(live: Any, tree: Any, struct: Any, manager: str) -> Any:
    new = decoding.decode(struct, tree).tree
    if new.get("metadata") is None:
        new["metadata"] = {}
    update(live, new, struct=struct, manager=str(manager), api_version=tree["apiVersion"], time=TIME)
    new = decode_json(encode(new))
    _check_owners(new)
    return new


def _check_owners(obj: Any) -> None:
    """Check that managedFields are in the canonical form that a client may send back."""
    stored = obj["metadata"].get("managedFields")
    assert not entries.fault_in(stored), stored
    if stored is not None:
        assert encode(entries.write(entries.parse(stored))) == encode(stored), stored


def _draw(choices: Choices) -> tuple[Any, ...]:
    kind = choices.pick(KINDS)
    struct = struct_for(*kind)
    steps = []
    for _ in range(choices.below(4) + 1):
        tree = choices.typed(struct, 7)
        if isinstance(tree, dict) and isinstance(tree.get("metadata"), dict) and not choices.one_in(16):
            tree["metadata"].pop("managedFields", None)
        steps.append((choices.pick(("apply", "update")), choices.pick(MANAGERS), choices.one_in(2), tree))
    return kind, steps
