"""Syntax rules of names, labels and other identifiers. Upstream: ``k8s.io/apimachinery/pkg/util/validation``.

Every ``check_*`` returns the error messages, an empty tuple if the value is valid. Lengths are in bytes of UTF-8.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from steersman.apimachinery.text_cache import text_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Faults = tuple[str, ...]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = f"{_LABEL}(\\.{_LABEL})*"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

LABEL_MAX_BYTES: Final = 63
SUBDOMAIN_MAX_BYTES: Final = 253

#: Names from ``generateName`` are truncated so that they still fit a DNS label.
GENERATED_NAME_MAX: Final = 63
GENERATED_SUFFIX_LENGTH: Final = 5
#: No vowels and no ambiguous characters, so that no words result.
SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


class _Rule:
    """Pattern that must match in full, and its message."""

    __slots__ = ("_fault", "_match")

    def __init__(self, pattern: str, description: str, *examples: str) -> None:
        self._match = re.compile(pattern).fullmatch
        text = " or ".join(f"'{example}', " for example in examples)
        self._fault: Final = f"{description} (e.g. {text}regex used for validation is '{pattern}')"

    def __call__(self, value: str) -> Faults:
        return () if self._match(value) else (self._fault,)

    def matches(self, value: str) -> bool:
        return self._match(value) is not None

    @property
    def fault(self) -> str:
        return self._fault


_ENDS: Final = "and must start and end with an alphanumeric character"
_DNS1123_LABEL: Final = _Rule(
    _LABEL,
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}",
    "my-name",
    "123-abc",
)
_DNS1123_SUBDOMAIN: Final = _Rule(
    _SUBDOMAIN,
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}",
    "example.com",
)
_DNS1123_SUBDOMAIN_WITH_UNDERSCORE: Final = _Rule(
    r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', {_ENDS}",
    "example.com",
)
_DNS1035_LABEL: Final = _Rule(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    "my-name",
    "abc-123",
)
_WILDCARD_SUBDOMAIN: Final = _Rule(
    f"\\*\\.{_SUBDOMAIN}",
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    "*.example.com",
)
_QUALIFIED_NAME_WORDS: Final = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_NAME_PART: Final = _Rule(_QUALIFIED, f"name part {_QUALIFIED_NAME_WORDS}", "MyName", "my.name", "123-abc")
_LABEL_KEY: Final = _Rule(_QUALIFIED, f"a valid label key {_QUALIFIED_NAME_WORDS}", "MyName", "my.name", "123-abc")
_LABEL_VALUE: Final = _Rule(
    f"({_QUALIFIED})?",
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    "MyValue",
    "my_value",
    "12345",
)
_C_IDENTIFIER: Final = _Rule(
    "[A-Za-z_][A-Za-z0-9_]*",
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_'",
    "my_name",
    "MY_NAME",
    "MyName",
)
_CONFIG_KEY: Final = _Rule(
    "[-._a-zA-Z0-9]+",
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
)
_HTTP_HEADER: Final = _Rule(
    "[-A-Za-z0-9]+", "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
_PERCENT: Final = _Rule(
    "[0-9]+%", "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%"
)
#: Valid names of container ports.
_PORT_NAME: Final = re.compile("(?=.{1,15}\\Z)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_PORT_NAME_CHARACTERS: Final = re.compile("[-a-z0-9]+")
_LOWERCASE_LETTER: Final = re.compile("[a-z]")
_PRINTABLE_BUT_EQUALS: Final = re.compile("[ -<>-~]+")


#: Bounds of the caches of checks of recurring values: label keys of a workload's objects, namespaces.
_CACHED_MAX: Final = 4096
_CACHED_LENGTH_MAX: Final = 512


def _longer(value: str, length: int) -> bool:
    return len(value) > length or (not value.isascii() and len(value.encode("utf-8", "replace")) > length)


def _length(value: str, length: int, unit: str = "characters") -> Faults:
    """Return the length error; upstream's unit is "bytes" for labels, "characters" elsewhere."""
    return (f"must be no more than {length} {unit}",) if _longer(value, length) else ()


def is_dns1123_label(value: str) -> bool:
    """Report whether ``check_dns1123_label`` has no error; not cached, for names that do not recur."""
    return len(value) <= LABEL_MAX_BYTES and _DNS1123_LABEL.matches(value)


@text_cache(_CACHED_MAX, length_max=_CACHED_LENGTH_MAX)
def check_dns1123_label(value: str) -> Faults:
    """Validate a DNS label (RFC 1123): namespaces and most names that become host names."""
    if is_dns1123_label(value):
        return ()
    faults = _length(value, LABEL_MAX_BYTES)
    if _DNS1123_LABEL.matches(value):
        return faults
    if _DNS1123_SUBDOMAIN.matches(value):
        return (*faults, "must not contain dots")
    return (*faults, _DNS1123_LABEL.fault)


def check_dns1123_subdomain(value: str) -> Faults:
    """Validate a DNS subdomain (RFC 1123): the rule for most object names."""
    if is_dns1123_label(value):  # most are, and this halves the time
        return ()
    return _length(value, SUBDOMAIN_MAX_BYTES) + _DNS1123_SUBDOMAIN(value)


def check_dns1123_subdomain_with_underscore(value: str) -> Faults:
    """Validate a DNS subdomain whose labels may have underscores (search domains of a Pod)."""
    return _length(value, SUBDOMAIN_MAX_BYTES) + _DNS1123_SUBDOMAIN_WITH_UNDERSCORE(value)


def check_dns1035_label(value: str) -> Faults:
    """Validate a DNS label that begins with a letter (RFC 1035)."""
    return _length(value, LABEL_MAX_BYTES) + _DNS1035_LABEL(value)


def check_wildcard_dns1123_subdomain(value: str) -> Faults:
    """Validate a DNS subdomain whose first label is ``*``."""
    return _length(value, SUBDOMAIN_MAX_BYTES) + _WILDCARD_SUBDOMAIN(value)


@text_cache(_CACHED_MAX, length_max=_CACHED_LENGTH_MAX)
def check_qualified_name(value: str) -> Faults:
    """Validate ``name`` or ``example.com/name``: keys of labels and annotations, finalizers, taints, resources."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return (f"{_LABEL_KEY.fault} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    faults: list[str] = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        prefix_faults = _length(prefix, SUBDOMAIN_MAX_BYTES, "bytes") + _DNS1123_SUBDOMAIN(prefix)
        faults += [f"prefix part {fault}" for fault in prefix_faults]
    if not name:
        faults.append("name part must be non-empty")
    else:
        faults += [f"name part {fault}" for fault in _length(name, LABEL_MAX_BYTES, "bytes")]
    return (*faults, *_NAME_PART(name))


@text_cache(_CACHED_MAX, length_max=_CACHED_LENGTH_MAX)
def check_label_value(value: str) -> Faults:
    """Validate a label value; may be empty."""
    return _length(value, LABEL_MAX_BYTES, "bytes") + _LABEL_VALUE(value)


def check_c_identifier(value: str) -> Faults:
    """Validate a C identifier."""
    return _C_IDENTIFIER(value)


@text_cache(_CACHED_MAX, length_max=_CACHED_LENGTH_MAX)
def check_config_map_key(value: str) -> Faults:
    """Validate a key of a ConfigMap or Secret, which is also a file name."""
    return _length(value, SUBDOMAIN_MAX_BYTES) + _CONFIG_KEY(value) + _directory_faults(value)


def _directory_faults(value: str) -> Faults:
    """Return the errors of a file name that would leave its directory."""
    if value in (".", ".."):
        return (f"must not be '{value}'",)
    return ("must not start with '..'",) if value.startswith("..") else ()


def check_relaxed_env_var_name(value: str) -> Faults:
    """Validate the name of an environment variable by the present rule: printable ASCII except ``=``."""
    if not value:
        return ("environment variable name must be non-empty",)
    if _PRINTABLE_BUT_EQUALS.fullmatch(value):
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


def check_http_header_name(value: str) -> Faults:
    """Validate the header name of a probe."""
    return _HTTP_HEADER(value)


def check_percent(value: str) -> Faults:
    """Validate a percentage, ``25%``."""
    return _PERCENT(value)


def check_in_range(value: int, low: int, high: int) -> Faults:
    """Validate that ``low <= value <= high``."""
    return () if low <= value <= high else (f"must be between {low} and {high}, inclusive",)


def check_port_number(port: int) -> Faults:
    """Validate a TCP, UDP or SCTP port."""
    return check_in_range(port, 1, 65535)


def check_port_name(value: str) -> Faults:
    """Validate the name of a container port (RFC 6335, section 5.1)."""
    if _PORT_NAME.fullmatch(value):
        return ()
    faults = [*_length(value, 15)]
    if not _PORT_NAME_CHARACTERS.fullmatch(value):
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _LOWERCASE_LETTER.search(value):
        faults.append("must contain at least one letter (a-z)")
    if "--" in value:
        faults.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        faults.append("must not begin or end with a hyphen")
    return tuple(faults)


def check_path_segment(value: str) -> Faults:
    """Validate a name that only needs to be a URL path segment (roles, bindings)."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return check_path_segment_prefix(value)


def check_path_segment_prefix(value: str) -> Faults:
    """Validate the prefix of a path segment name."""
    return tuple(f"may not contain '{char}'" for char in "/%" if char in value)


class NameRule(Protocol):
    """Name rule of a kind; ``prefix`` is true for a ``generateName``."""

    def __call__(self, name: str, /, *, prefix: bool = False) -> Sequence[str]: ...


def _with_prefix(check: Callable[[str], Faults]) -> NameRule:
    """Return the rule for names and for ``generateName``: a prefix may end in a dash, a name may not."""

    def rule(name: str, /, *, prefix: bool = False) -> Faults:
        if prefix and len(name) > 1 and name.endswith("-"):
            name = f"{name[:-2]}a"
        return check(name)

    return rule


name_is_dns_subdomain: Final = _with_prefix(check_dns1123_subdomain)
name_is_dns_label: Final = _with_prefix(check_dns1123_label)


def name_is_path_segment(name: str, /, *, prefix: bool = False) -> Faults:
    """Validate by the loosest rule, which every name of every kind satisfies."""
    return check_path_segment_prefix(name) if prefix else check_path_segment(name)


class Dice(Protocol):
    """Source of random characters, e.g. ``random.Random``."""

    def choices(self, population: Sequence[str], *, k: int) -> list[str]:
        """Return ``k`` elements drawn independently."""
        ...


def generate_name(prefix: str, dice: Dice) -> str:
    """Return ``prefix``, truncated if necessary, and five random characters. Upstream: ``SimpleNameGenerator``."""
    base = prefix[: GENERATED_NAME_MAX - GENERATED_SUFFIX_LENGTH]
    return base + "".join(dice.choices(SUFFIX_ALPHABET, k=GENERATED_SUFFIX_LENGTH))
