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
_TOKEN_VOLUME_START: Final = TOKEN_VOLUME_PREFIX.encode()
#: Claims of such volumes are named after the pod, so the spec alone does not say whether they are right.
_EPHEMERAL: Final = b'"ephemeral":'
#: Longer specs are told apart by their digest, shorter ones quicker, by themselves.
_TEXT_BYTES_MAX: Final = 2048
#: Warnings of more characters are worked out each time.
_SAID_CHARACTERS_MAX: Final = 2048


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
        #: Warnings, by where the spec stood: there are no more places than kinds with templates.
        self.said: Final[dict[str, tuple[str, ...]]] = {}

    def say(self, where: str, warnings: Iterable[str]) -> tuple[str, ...]:
        """``warnings`` about the spec alone, kept for when one like it stands at ``where`` again."""
        said = tuple(warnings)
        size = sum(map(len, said))
        # What names the token's volume is said of this pod only.
        if size <= _SAID_CHARACTERS_MAX and not any(TOKEN_VOLUME_PREFIX in each for each in said):
            self.said[where] = said
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
