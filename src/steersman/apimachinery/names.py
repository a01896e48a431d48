"""The syntax rules of names, labels and other identifiers, with the messages that tell what is wrong.

Every ``check_*`` returns the faults it found, an empty tuple when the value is right. Lengths are in bytes of UTF-8.
"""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Faults = tuple[str, ...]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = f"{_LABEL}(\\.{_LABEL})*"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

LABEL_MAX_BYTES: Final = 63
SUBDOMAIN_MAX_BYTES: Final = 253

#: Names made from ``generateName`` are cut so that they still fit a DNS label.
GENERATED_NAME_MAX: Final = 63
GENERATED_SUFFIX_LENGTH: Final = 5
#: No vowels and no look-alikes: no words come out.
SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


class _Rule:
    """A pattern that must match whole, and how its message tells it."""

    __slots__ = ("_fault", "_match")

    def __init__(self, pattern: str, what: str, *examples: str) -> None:
        self._match = re.compile(pattern).fullmatch
        shown = " or ".join(f"'{example}', " for example in examples)
        self._fault: Final = f"{what} (e.g. {shown}regex used for validation is '{pattern}')"

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
_ENV_VAR_NAME: Final = _Rule(
    "[-._a-zA-Z][-._a-zA-Z0-9]*",
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
    "start with a digit",
    "my.env-name",
    "MY_ENV.NAME",
    "MyEnvName1",
)
_HTTP_HEADER: Final = _Rule(
    "[-A-Za-z0-9]+", "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
_PERCENT: Final = _Rule(
    "[0-9]+%", "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%"
)
_PORT_NAME_CHARACTERS: Final = re.compile("[-a-z0-9]+")
_PRINTABLE_BUT_EQUALS: Final = re.compile("[ -<>-~]+")


#: Bounds of what a check remembers: values, which are all forgotten when they are too many, and characters of one.
_REMEMBERED_MAX: Final = 4096
_REMEMBERED_LENGTH_MAX: Final = 512


def _remembered(check: Callable[[str], Faults]) -> Callable[[str], Faults]:
    """For values that come again and again: the keys of a workload's objects, namespaces."""
    known: dict[str, Faults] = {}
    get = known.get

    @wraps(check)
    def remembering(value: str) -> Faults:
        faults = get(value)
        if faults is None:
            faults = check(value)
            if len(value) <= _REMEMBERED_LENGTH_MAX:
                if len(known) >= _REMEMBERED_MAX:
                    known.clear()
                known[value] = faults
        return faults

    return remembering


def _longer(value: str, length: int) -> bool:
    return len(value) > length or (not value.isascii() and len(value.encode("utf-8", "replace")) > length)


def _length(value: str, length: int, unit: str = "characters") -> Faults:
    """Upstream calls the same count by two names: "bytes" for labels, "characters" elsewhere."""
    return (f"must be no more than {length} {unit}",) if _longer(value, length) else ()


def is_dns1123_label(value: str) -> bool:
    """Whether a name has no fault by ``check_dns1123_label``; for names, which do not come again."""
    return len(value) <= LABEL_MAX_BYTES and _DNS1123_LABEL.matches(value)


@_remembered
def check_dns1123_label(value: str) -> Faults:
    """One part of a DNS name; namespaces and most names that end up in DNS."""
    faults = _length(value, LABEL_MAX_BYTES)
    if _DNS1123_LABEL.matches(value):
        return faults
    if _DNS1123_SUBDOMAIN.matches(value):
        return (*faults, "must not contain dots")
    return (*faults, _DNS1123_LABEL.fault)


def check_dns1123_subdomain(value: str) -> Faults:
    """A DNS name; the rule for most objects' names."""
    if is_dns1123_label(value):  # most are, and that is found out in half the time
        return ()
    return _length(value, SUBDOMAIN_MAX_BYTES) + _DNS1123_SUBDOMAIN(value)


def check_dns1123_subdomain_with_underscore(value: str) -> Faults:
    """A DNS name whose parts may begin with or hold underscores (search domains of a pod)."""
    return _length(value, SUBDOMAIN_MAX_BYTES) + _DNS1123_SUBDOMAIN_WITH_UNDERSCORE(value)


def check_dns1035_label(value: str) -> Faults:
    """One part of a DNS name that begins with a letter."""
    return _length(value, LABEL_MAX_BYTES) + _DNS1035_LABEL(value)


def check_wildcard_dns1123_subdomain(value: str) -> Faults:
    """A DNS name whose first part is ``*``."""
    return _length(value, SUBDOMAIN_MAX_BYTES) + _WILDCARD_SUBDOMAIN(value)


@_remembered
def check_qualified_name(value: str) -> Faults:
    """``name`` or ``example.com/name``: keys of labels and annotations, finalizers, taints, resources."""
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


@_remembered
def check_label_value(value: str) -> Faults:
    """A label's value; may be empty."""
    return _length(value, LABEL_MAX_BYTES, "bytes") + _LABEL_VALUE(value)


def check_c_identifier(value: str) -> Faults:
    """A name as in C."""
    return _C_IDENTIFIER(value)


@_remembered
def check_config_map_key(value: str) -> Faults:
    """A key of a ConfigMap or Secret: also a file name."""
    return _length(value, SUBDOMAIN_MAX_BYTES) + _CONFIG_KEY(value) + _directory_faults(value)


def _directory_faults(value: str) -> Faults:
    """What would leave the directory that the value becomes a file name in."""
    if value in (".", ".."):
        return (f"must not be '{value}'",)
    return ("must not start with '..'",) if value.startswith("..") else ()


def check_env_var_name(value: str) -> Faults:
    """An environment variable by the strict rule."""
    return _ENV_VAR_NAME(value) + _directory_faults(value)


def check_relaxed_env_var_name(value: str) -> Faults:
    """An environment variable by the rule in force: printable ASCII but ``=``."""
    if not value:
        return ("environment variable name must be non-empty",)
    if _PRINTABLE_BUT_EQUALS.fullmatch(value):
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


def check_http_header_name(value: str) -> Faults:
    """A header's name in a probe."""
    return _HTTP_HEADER(value)


def check_percent(value: str) -> Faults:
    """``25%``."""
    return _PERCENT(value)


def check_in_range(value: int, low: int, high: int) -> Faults:
    """A number between two others, both included."""
    return () if low <= value <= high else (f"must be between {low} and {high}, inclusive",)


def check_port_number(port: int) -> Faults:
    """A TCP, UDP or SCTP port."""
    return check_in_range(port, 1, 65535)


def check_port_name(value: str) -> Faults:
    """A name of a container's port (RFC 6335, section 5.1)."""
    faults = [*_length(value, 15)]
    if not _PORT_NAME_CHARACTERS.fullmatch(value):
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in value):
        faults.append("must contain at least one letter (a-z)")
    if "--" in value:
        faults.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        faults.append("must not begin or end with a hyphen")
    return tuple(faults)


def check_path_segment(value: str) -> Faults:
    """A name that need only fit into a URL path (roles, bindings)."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return check_path_segment_prefix(value)


def check_path_segment_prefix(value: str) -> Faults:
    """The beginning of such a name."""
    return tuple(f"may not contain '{char}'" for char in "/%" if char in value)


class NameRule(Protocol):
    """The rule for the names of a kind; ``prefix`` is true for a ``generateName``."""

    def __call__(self, name: str, /, *, prefix: bool = False) -> Sequence[str]: ...


def _with_prefix(check: Callable[[str], Faults]) -> NameRule:
    """As a rule for names and for what they are generated from: a prefix may end in a dash, a name not."""

    def rule(name: str, /, *, prefix: bool = False) -> Faults:
        if prefix and len(name) > 1 and name.endswith("-"):
            name = f"{name[:-2]}a"
        return check(name)

    return rule


name_is_dns_subdomain: Final = _with_prefix(check_dns1123_subdomain)
name_is_dns_label: Final = _with_prefix(check_dns1123_label)
name_is_dns1035_label: Final = _with_prefix(check_dns1035_label)


def name_is_path_segment(name: str, /, *, prefix: bool = False) -> Faults:
    """The loosest rule; every name of every kind fulfils it."""
    return check_path_segment_prefix(name) if prefix else check_path_segment(name)


class Dice(Protocol):
    """Where random letters come from (``random.Random`` is one)."""

    def choices(self, population: Sequence[str], *, k: int) -> list[str]:
        """``k`` members, each drawn anew."""
        ...


def generate_name(prefix: str, dice: Dice) -> str:
    """A name that begins with ``prefix``, cut so that five random characters still fit."""
    kept = prefix[: GENERATED_NAME_MAX - GENERATED_SUFFIX_LENGTH]
    return kept + "".join(dice.choices(SUFFIX_ALPHABET, k=GENERATED_SUFFIX_LENGTH))
