"""Facts derived from Pod specs, cached for all equal specs.

Pods of a workload have equal specs but for the name of the token volume. Encoding and looking up a spec costs
microseconds; validating it costs a hundred times as much. The cache belongs to one server; ``RequestContext`` passes it
to validation, warnings and admission.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.bounded_cache import BoundedCache, Doorkeeper, digest
from steersman.apimachinery.codec import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree


#: Name of the token volume that admission adds, followed by five random characters.
TOKEN_VOLUME_PREFIX: Final = "kube-api-access-"  # noqa: S105 — the name of a volume

_TOKEN_VOLUME: Final = re.compile(b'"%b[a-z0-9]{5}"' % TOKEN_VOLUME_PREFIX.encode())
_TOKEN_VOLUME_START: Final = TOKEN_VOLUME_PREFIX.encode()
#: Claims of ephemeral volumes derive their name from the Pod's, so the validity of such specs depends on more than the
#: spec.
_EPHEMERAL: Final = b'"ephemeral":'
#: Longer specs are keyed by digest.
_TEXT_BYTES_MAX: Final = 2048
#: Limits of the cached texts per spec.
_CHARACTERS_MAX: Final = 2048
_TEXTS_MAX: Final = 16

_CACHE_BYTES: Final = 32 * 1024 * 1024
#: Estimated size of the facts of one spec.
_FACTS_BYTES: Final = 2048


class SpecFacts:
    """Facts about equal specs; added by validation, warnings and admission."""

    __slots__ = ("is_valid_new", "qos_class", "texts", "validated_under")

    def __init__(self) -> None:
        #: Options under which the spec is valid.
        self.validated_under: Final[set[Hashable]] = set()
        #: A new Pod with the spec is valid.
        self.is_valid_new = False
        #: Empty until computed.
        self.qos_class = ""
        #: Texts about the spec: warnings by path of the spec, Pod Security violations by standard.
        self.texts: Final[dict[Hashable, tuple[str, ...]]] = {}

    def errors_under(self, rules: Hashable, validate: Callable[[], list[FieldError]]) -> list[FieldError]:
        """Return the errors that ``validate`` finds under ``rules``; it is not called again if there were none."""
        if rules in self.validated_under:
            return []
        errors = validate()
        if not errors:
            self.validated_under.add(rules)
        return errors

    def texts_for(self, reason: Hashable, compute: Callable[[], Iterable[str]]) -> tuple[str, ...]:
        """Return the cached texts for ``reason``, else compute them; they are cached if they hold for all equal specs."""
        cached = self.texts.get(reason)
        if cached is not None:
            return cached
        result = tuple(compute())
        is_about_all = not any(TOKEN_VOLUME_PREFIX in text for text in result)
        if is_about_all and sum(map(len, result)) <= _CHARACTERS_MAX and len(self.texts) < _TEXTS_MAX:
            self.texts[reason] = result
        return result


if TYPE_CHECKING:
    #: Return the facts about a spec.
    FactsFor = Callable[[Tree], SpecFacts]


class SpecFactsCache:
    """Cache of facts about the specs of one server, bounded in bytes."""

    __slots__ = ("_doorkeeper", "_facts")

    def __init__(self) -> None:
        self._facts: Final = BoundedCache[SpecFacts](bytes_max=_CACHE_BYTES, name="pod specs")
        self._doorkeeper: Final = Doorkeeper()

    def facts_for(self, spec: Tree) -> SpecFacts:
        """Return the facts about specs equal to ``spec``, which are cached from the second time on.

        Specs whose validity depends on more than the spec get new facts each time.
        """
        text = encode(spec)
        if _TOKEN_VOLUME_START in text and (volume := _TOKEN_VOLUME.search(text)) is not None:
            text = text.replace(volume[0], b"\0")  # NUL does not occur in JSON
        key = text if len(text) <= _TEXT_BYTES_MAX else digest(text)
        facts = self._facts.get(key)
        if facts is None:
            facts = SpecFacts()
            if _EPHEMERAL not in text and self._doorkeeper.admits(key):
                self._facts.put(key, facts, len(key) + _FACTS_BYTES)
        return facts


def new_facts(spec: Tree) -> SpecFacts:  # noqa: ARG001 — a FactsFor
    """Return empty facts, for validation outside of a request."""
    return SpecFacts()
