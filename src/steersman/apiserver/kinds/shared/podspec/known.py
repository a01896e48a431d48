"""Pod specs that were looked at before: a workload's pods are alike but for the name of the account token's volume."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import encode
from steersman.apimachinery.remembering import Remembered, digest

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.generic.strategy import Tree
    from steersman.apiserver.kinds.shared.podspec.rules import PodRules

#: Admission names the volume so, with five random characters after it.
TOKEN_VOLUME_PREFIX: Final = "kube-api-access-"  # noqa: S105 — the name of a volume

_TOKEN_VOLUME: Final = re.compile(b'"%b[a-z0-9]{5}"' % TOKEN_VOLUME_PREFIX.encode())
_TOKEN_VOLUME_START: Final = TOKEN_VOLUME_PREFIX.encode()
#: Claims of such volumes are named after the pod, so the spec alone does not say whether they are right.
_EPHEMERAL: Final = b'"ephemeral":'
#: Longer specs are told apart by their digest, shorter ones quicker, by themselves.
_TEXT_BYTES_MAX: Final = 2048
#: More characters are worked out each time, and so is what is to be said for more reasons.
_SAID_CHARACTERS_MAX: Final = 2048
_SAID_MAX: Final = 16


class Known:
    """What is known of all specs that are alike; filled in by whoever works something out."""

    __slots__ = ("faultless_by", "is_faultless_new", "qos_class", "said")

    def __init__(self) -> None:
        #: By which rules (but for a pod's name) there was no fault.
        self.faultless_by: Final[set[tuple[bool, ...]]] = set()
        #: There was none in a new pod either, which is held to more.
        self.is_faultless_new = False
        #: Empty: not worked out yet.
        self.qos_class = ""
        #: What was said: warnings, by where the spec stood, and what it breaks of a standard, by that.
        self.said: Final[dict[Hashable, tuple[str, ...]]] = {}

    def say(self, why: Hashable, texts: Iterable[str]) -> tuple[str, ...]:
        """``texts`` about the spec alone, kept for when they are to be said of one like it again."""
        said = tuple(texts)
        # What names the token's volume is said of this pod only.
        is_about_all = not any(TOKEN_VOLUME_PREFIX in each for each in said)
        if is_about_all and sum(map(len, said)) <= _SAID_CHARACTERS_MAX and len(self.said) < _SAID_MAX:
            self.said[why] = said
        return said


_known: Final = Remembered[Known]()


def known_of(spec: Tree) -> Known:
    """What is known of specs that are alike to every rule; nothing of one that is judged by more than what it holds."""
    text = encode(spec)
    if _TOKEN_VOLUME_START in text and (volume := _TOKEN_VOLUME.search(text)) is not None:
        text = text.replace(volume[0], b"\0")  # no JSON has a zero byte
    key = text if len(text) <= _TEXT_BYTES_MAX else digest(text)
    known = _known.get(key)
    if known is None:
        known = Known()
        if _EPHEMERAL not in text:
            _known.put(key, known)
    return known


def unless_known_faultless(known: Known, rules: PodRules, errors: Iterator[FieldError]) -> Iterator[FieldError]:
    """``errors``, which are not asked for when a spec like this had none."""
    key = rules.besides_name()
    if key in known.faultless_by:
        return
    nothing = True
    for error in errors:
        nothing = False
        yield error
    if nothing:
        known.faultless_by.add(key)
