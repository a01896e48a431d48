"""Pod specs that were looked at before: a workload's pods are alike but for the name of the account token's volume."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import encode
from steersman.apimachinery.remembering import Remembered, digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.registry.podspec.rules import PodRules
    from steersman.apiserver.registry.strategy import Tree

#: Admission names the volume so, with five random characters after it.
TOKEN_VOLUME_PREFIX: Final = "kube-api-access-"  # noqa: S105 — the name of a volume

_TOKEN_VOLUME: Final = re.compile(b'"%b[a-z0-9]{5}"' % TOKEN_VOLUME_PREFIX.encode())
#: Claims of such volumes are named after the pod, so the spec alone does not say whether they are right.
_EPHEMERAL: Final = b'"ephemeral":'

#: Specs without a fault, by the rules that they were held to; and what was said of specs, by where they stood.
_faultless: Final = Remembered[bool]()
_said: Final = Remembered[tuple[str, ...]]()
#: More is said anew each time.
_SAID_CHARACTERS_MAX: Final = 2048


def key_of(spec: Tree) -> bytes | None:
    """What specs share that are alike to every rule; None for a spec that is judged by more than what it holds."""
    text = encode(spec)
    if _EPHEMERAL in text:
        return None
    volume = _TOKEN_VOLUME.search(text)
    return digest(text if volume is None else text.replace(volume[0], b"\0"))  # no JSON has a zero byte


def unless_known_faultless(spec: Tree, rules: PodRules, errors: Iterator[FieldError]) -> Iterator[FieldError]:
    """``errors``, which are not asked for when a spec like this had none."""
    text = key_of(spec)
    key = None if text is None else (text, rules.besides_name())
    if key is not None and _faultless.get(key):
        return
    nothing = True
    for error in errors:
        nothing = False
        yield error
    if nothing and key is not None:
        _faultless.put(key, True)


def said_before(spec: Tree, where: str, warnings: Iterator[str]) -> Iterable[str]:
    """``warnings`` about the spec alone, which are not asked for when a spec like this stood at ``where`` before."""
    text = key_of(spec)
    if text is None:
        return warnings
    key = (text, where)
    said = _said.get(key)
    if said is None:
        said = tuple(warnings)
        size = sum(map(len, said))
        # What names the token's volume is said of this pod only.
        if size <= _SAID_CHARACTERS_MAX and not any(TOKEN_VOLUME_PREFIX in each for each in said):
            _said.put(key, said)
    return said
