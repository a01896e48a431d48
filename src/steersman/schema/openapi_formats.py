"""String formats of custom resources' OpenAPI schemas (kube-openapi's ``strfmt``); unknown formats are ignored."""

from __future__ import annotations

import ipaddress
import re
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from unicodedata import category

from steersman.apimachinery import names
from steersman.apimachinery.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Check = Callable[[str], bool]

_ATOMS: Final = (
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+)*"
)
_ADDRESS: Final = rf'(?:{_ATOMS}|"(?:[^"\\]|\\.)+")@(?:{_ATOMS}|\[[^\]]+\])'
_HOSTNAME: Final = (
    r"[a-zA-Z0-9](?:-?[a-zA-Z0-9]{0,62})?"
    r"|(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z0-9](?:-?[a-zA-Z0-9]){1,62}"
)
_HOSTNAME_MAX_BYTES: Final = 255
_HEX: Final = "[0-9a-fA-F]"
_UUID: Final = f"{_HEX}{{8}}-?{_HEX}{{4}}-?%s{_HEX}{{3}}-?%s{_HEX}{{3}}-?{_HEX}{{12}}"
_BYTE: Final = r"(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_TIME: Final = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MAC: Final = re.compile(
    "|".join(
        f"{_HEX}{{{digits}}}(?:{sign}{_HEX}{{{digits}}}){{{octets * 2 // digits - 1}}}"
        for octets in (6, 8, 20)
        for sign, digits in ((":", 2), ("-", 2), (r"\.", 4))
    )
)
_CREDIT_CARD: Final = re.compile(
    r"4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}|6(?:011|5\d\d)\d{12}"
    r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}|6[27]\d{14}",
    re.ASCII,
)
_SCALA_DURATION: Final = re.compile(r"\s*(?:\d+\s*[A-Za-zµ]+\s*)+", re.ASCII)
_SCALA_PART: Final = re.compile(r"\d+\s*([A-Za-zµ]+)", re.ASCII)
#: A unit is one of these, or begins with one of the second.
_UNITS: Final = ("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk")
_UNIT_WORDS: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AUTHORITY: Final = re.compile(r"(?:[^@/]*@)?(?:\[[0-9A-Fa-f:.%]+\]|[^\s\[\]<>\"\\^`{|}:]*)(?::\d*)?")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
#: Number formats that are validated, by JSON type (since 1.36, kubernetes#136582).
_NUMBER_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}
#: From this value on, rounding to 32 bits results in infinity.
_FLOAT32_END: Final = 2.0**128 - 2.0**103
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def _pattern(pattern: str) -> Check:
    fullmatch = re.compile(pattern, re.ASCII).fullmatch
    return lambda text: fullmatch(text) is not None


def _is_uri(text: str) -> bool:
    """Report whether the text could be a request URI: with a scheme, or an absolute path (RFC 3986)."""
    if not text or _CONTROL.search(text):
        return False
    scheme = _SCHEME.match(text)
    rest = (text[scheme.end() :] if scheme else text).partition("?")[0]
    if not rest.startswith("/"):
        return scheme is not None or text == "*"
    if _BAD_ESCAPE.search(rest):
        return False
    if scheme is None or not rest.startswith("//"):
        return True
    return _AUTHORITY.fullmatch(rest[2:].partition("/")[0]) is not None


def _is_email(text: str) -> bool:
    return re.fullmatch(rf"\s*{_ADDRESS}\s*|[^<>@]*<{_ADDRESS}>\s*", text) is not None


def _is_hostname(text: str) -> bool:
    plain = "".join("a" if category(char)[0] in "LS" else char for char in text)
    labels = (len(label.encode()) <= names.LABEL_MAX_BYTES for label in text.split("."))
    return re.fullmatch(_HOSTNAME, plain) is not None and len(text.encode()) <= _HOSTNAME_MAX_BYTES and all(labels)


def _is_ip(text: str, sign: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return sign in text and "%" not in text


def _is_cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return bool(slash) and length.isdigit() and "%" not in address


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII) is None:
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"\d{13}", digits, re.ASCII) is None:
        return False
    return sum(int(digit) * (1, 3)[place % 2] for place, digit in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    """Report whether the text is a card number of a major issuer with a valid check digit (ISO/IEC 7812)."""
    digits = re.sub("[^0-9]+", "", text)
    if _CREDIT_CARD.fullmatch(digits) is None:
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(value // 10 + value % 10 for value in doubled) % 10 == 0


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return _DATE.fullmatch(text) is not None


def _is_date_time(text: str) -> bool:
    day, sign, time = text.lower().partition("t")
    match = _TIME.fullmatch(time)
    if not sign or not _is_date(day) or match is None:
        return False
    hours, minutes, seconds = match.groups()
    return hours <= "23" and minutes <= "59" and seconds <= "59"


def _is_duration(text: str) -> bool:
    """Report whether the text is a duration of Go, or of Scala (``2 days 3 hours``)."""
    try:
        parse_duration(text)
    except ValueError:
        units = [unit.lower() for unit in _SCALA_PART.findall(text)] if _SCALA_DURATION.fullmatch(text) else []
        return any(unit in _UNITS or unit.startswith(_UNIT_WORDS) for unit in units)
    return True


#: By name without dashes, which are insignificant.
_CHECKS: Final[Mapping[str, Check]] = {
    "bsonobjectid": _pattern(f"{_HEX}{{24}}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda text: _is_ip(text, "."),
    "ipv6": lambda text: _is_ip(text, ":"),
    "cidr": _is_cidr,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uuid": _pattern(_UUID % (_HEX, _HEX)),
    "uuid3": _pattern(_UUID % ("3", _HEX)),
    "uuid4": _pattern(_UUID % ("4", "[89abAB]")),
    "uuid5": _pattern(_UUID % ("5", "[89abAB]")),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _pattern(r"\d{3}[- ]\d{2}[- ]\d{4}"),
    "hexcolor": _pattern(f"#?(?:{_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _pattern(rf"rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)"),
    "byte": _pattern("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: not names.check_dns1123_label(text),
    "k8slongname": lambda text: not names.check_dns1123_subdomain(text),
}


def is_known(name: str) -> bool:
    """Report whether a format of strings is validated."""
    return name.replace("-", "") in _CHECKS


def is_supported(name: str, type_: str) -> bool:
    """Report whether a format of a schema with a JSON type is validated; a schema without a type is one of strings.

    Upstream: ``GetUnrecognizedFormats`` and ``StripUnsupportedFormatsPostProcessorForVersion`` in
    ``staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go``.
    """
    return is_known(name) if type_ in ("", "string") else name in _NUMBER_FORMATS.get(type_, ())


def fits(name: str, text: str) -> bool:
    """Report whether a text has a known format."""
    return _CHECKS[name.replace("-", "")](text)


def has_room(name: str, number: Any) -> bool:
    """Report whether a number, written without an exponent, fits a number format."""
    if name.startswith("int"):
        whole = Decimal(repr(number))
        end = 2**31 if name == "int32" else 2**63
        return whole == whole.to_integral_value() and -end <= whole < end
    return name != "float" or abs(number) < _FLOAT32_END
