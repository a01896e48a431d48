"""Values of flags as Kubernetes components write them: durations, ranges of ports, lists, maps."""

from __future__ import annotations

from argparse import ArgumentTypeError

from steersman.apimachinery.durations import parse_duration


def duration(text: str) -> float:
    """Seconds of ``1h15m30.5s``; a bare 0 needs no unit, as in Go."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = -1.0
    if seconds < 0:
        raise ArgumentTypeError(f"{text!r} is no duration such as 30s or 1m30s")
    return seconds


def port(text: str) -> int:
    """A port number, 0 for any free one."""
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise ArgumentTypeError(f"{text!r} is no port between 0 and 65535")
    return int(text)


def port_range(text: str) -> tuple[int, int]:
    """``first-last``, ``first+count`` or one port."""
    for separator in "-+":
        first, found, second = text.partition(separator)
        if found:
            low, high = port(first), port(second) if separator == "-" else port(first) + port(second)
            break
    else:
        low = high = port(text)
    if low > high or high > 65535:
        raise ArgumentTypeError(f"{text!r} is no range of ports such as 30000-32767")
    return low, high


def count(text: str) -> int:
    """A whole number, not negative."""
    if not text.isascii() or not text.isdigit():
        raise ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def number(text: str) -> float:
    """A decimal number, not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no number")
    return value


def boolean(text: str) -> bool:
    """As Go's ``strconv.ParseBool``."""
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise ArgumentTypeError(f"{text!r} is neither true nor false")


def names(text: str) -> tuple[str, ...]:
    """A comma-separated list."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def pairs(text: str) -> dict[str, str]:
    """``name=value,other=value``."""
    split = [part.partition("=") for part in names(text)]
    if not all(name and equals for name, equals, _ in split):
        raise ArgumentTypeError(f"{text!r} is not of the form name=value")
    return {name.strip(): value.strip() for name, _, value in split}


def switches(text: str) -> dict[str, bool]:
    """``name=true,other=false``."""
    pairs = (part.partition("=") for part in names(text))
    return {name: boolean(value) if equals else True for name, equals, value in pairs}
