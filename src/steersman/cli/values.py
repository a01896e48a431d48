"""Flag values in the formats of Kubernetes components: durations, port ranges, addresses, lists, maps.

A function raises ``ArgumentTypeError`` with the expected format; the parser prepends flag and value.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from pathlib import Path

from steersman.apimachinery.durations import parse_duration
from steersman.apimachinery.gotext import quote
from steersman.version import KUBERNETES_VERSION

_GOAWAY_MAX = 0.02


def duration(text: str) -> float:
    """Return the seconds of ``1h15m30.5s``; a bare 0 needs no unit, as in Go."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = -1.0
    if seconds < 0:
        raise ArgumentTypeError("must be a duration such as 30s or 1m30s")
    return seconds


def port(text: str) -> int:
    """Return a port number; 0 means any free port."""
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise ArgumentTypeError("must be a port between 0 and 65535")
    return int(text)


def port_range(text: str) -> tuple[int, int]:
    """Return the first and the last port of ``first-last``, ``first+count`` or one port."""
    for separator in "-+":
        first, mark, second = text.partition(separator)
        if mark:
            low, high = port(first), port(second) if separator == "-" else port(first) + port(second)
            break
    else:
        low = high = port(text)
    if low > high or high > 65535:
        raise ArgumentTypeError("must be a range of ports such as 30000-32767")
    return low, high


def count(text: str) -> int:
    """Return a whole number that is not negative."""
    if not text.isascii() or not text.isdigit():
        raise ArgumentTypeError("must be a whole number, 0 or more")
    return int(text)


def integer(text: str) -> int:
    """Return a whole number of either sign, for options whose bounds are checked with the other options."""
    if not text.isascii() or not text.removeprefix("-").isdigit():
        raise ArgumentTypeError("must be a whole number")
    return int(text)


def integers(text: str) -> tuple[int, ...]:
    """Return a comma-separated list of whole numbers of either sign."""
    return tuple(map(integer, names(text)))


def positive(text: str) -> int:
    """Return a whole number greater than 0."""
    if count(text) == 0:
        raise ArgumentTypeError("must be greater than 0")
    return int(text)


def percentage(text: str) -> int:
    """Return a whole number from 0 to 100."""
    if count(text) > 100:
        raise ArgumentTypeError("must be between 0 and 100")
    return int(text)


def prefix_length(text: str) -> int:
    """Return the length of a network prefix; 0 means the default."""
    if count(text) > 128:
        raise ArgumentTypeError("must be between 0 and 128")
    return int(text)


def number(text: str) -> float:
    """Return a decimal number that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError("must be a number, 0 or more")
    return value


def fraction(text: str) -> float:
    """Return a decimal number from 0 to 1."""
    if number(text) > 1:
        raise ArgumentTypeError("must be between 0 and 1")
    return float(text)


def goaway_chance(text: str) -> float:
    """Return the value of ``--goaway-chance``."""
    if number(text) > _GOAWAY_MAX:
        raise ArgumentTypeError(f"can not be less than 0 or greater than {_GOAWAY_MAX}")
    return float(text)


def storage_backend(text: str) -> str:
    """Return the value of ``--storage-backend``."""
    if text not in ("", "etcd3"):
        raise ArgumentTypeError("invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'")
    return text


def previous_version(text: str) -> str:
    """Return the value of ``--show-hidden-metrics-for-version``."""
    major, minor, *_ = KUBERNETES_VERSION.removeprefix("v").split(".")
    previous = f"{major}.{int(minor) - 1}"
    if text not in ("", previous):
        raise ArgumentTypeError(
            f"must be omitted or have the value '{previous}'. Only the previous minor version is allowed"
        )
    return text


def boolean(text: str) -> bool:
    """Return a boolean as Go's ``strconv.ParseBool`` does."""
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise ArgumentTypeError("must be true or false")


def path(text: str) -> Path:
    """Return a path, with ``~`` replaced by the home directory."""
    if not text:
        raise ArgumentTypeError("must not be empty")
    return Path(text).expanduser()


def paths(text: str) -> tuple[Path, ...]:
    """Return a comma-separated list of paths."""
    return tuple(map(path, names(text)))


def ip(text: str) -> str:
    """Return an IP address."""
    from ipaddress import ip_address  # noqa: PLC0415 — most starts are given no address

    try:
        return str(ip_address(text))
    except ValueError:
        raise ArgumentTypeError(f"failed to parse IP: {quote(text)}") from None


def names(text: str) -> tuple[str, ...]:
    """Return a comma-separated list."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def controllers(text: str) -> tuple[str, ...]:
    """Return the list of ``--controllers``: names of controllers, ``-name`` and ``*``."""
    from steersman.controllers.entry_points import RegistryError  # noqa: PLC0415 — few starts choose controllers
    from steersman.controllers.registry import unknown  # noqa: PLC0415

    chosen = names(text)
    try:
        strangers = unknown(chosen)
    except RegistryError as error:
        raise ArgumentTypeError(str(error)) from None
    if strangers:
        raise ArgumentTypeError(f"{quote(strangers[0].removeprefix('-'))} is not in the list of known controllers")
    return chosen


def pairs(text: str) -> dict[str, str]:
    """Return the map of ``name=value,other=value``."""
    split = [part.partition("=") for part in names(text)]
    if not all(name and equals for name, equals, _ in split):
        raise ArgumentTypeError("must be of the form name=value")
    return {name.strip(): value.strip() for name, _, value in split}


def string_to_string(text: str) -> dict[str, str]:
    """Return the map of ``name=value``, or of several in CSV whose names and values may have commas in quotes.

    Upstream: ``pflag.StringToString``.
    """
    items = [text.strip('"')]
    if text.count("=") > 1:
        import csv  # noqa: PLC0415 — few starts are given such a map

        items = next(csv.reader([text]))
    split = [item.partition("=") for item in items]
    for name, equals, _ in split:
        if not equals:
            raise ArgumentTypeError(f"{name} must be formatted as key=value")
    return {name: value for name, _, value in split}


def cloud_provider(text: str) -> str:
    """Return the value of ``--cloud-provider``. Upstream has no other providers since Kubernetes 1.31."""
    if text not in ("", "external"):
        raise ArgumentTypeError(
            f"cloud provider {quote(text)} was specified, but built-in cloud providers are disabled."
            " Please set --cloud-provider=external and migrate to an external cloud provider"
        )
    return text


def tls_version(text: str) -> str:
    """Return the value of ``--tls-min-version``."""
    versions = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")
    if text not in ("", *versions):
        raise ArgumentTypeError(f"unknown tls version {quote(text)}")
    return text


def certificate_pairs(text: str) -> tuple[str, ...]:
    """Return the one value of ``--tls-sni-cert-key``: ``cert,key`` or ``cert,key:name,name``. The flag may be repeated."""
    from steersman.controlplane.sni_certificates import parse_named_cert_key  # noqa: PLC0415 — few starts have some

    try:
        parse_named_cert_key(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return (text,)


def module_levels(text: str) -> tuple[tuple[str, int], ...]:
    """Return the patterns and levels of ``--vmodule``: ``pattern=N,other=N``."""
    return tuple((name, count(level)) for name, level in pairs(text).items())


def emulated_versions(text: str) -> tuple[str, ...]:
    """Return the versions of ``--emulated-version``: ``kube=1.35`` or ``1.35``."""
    for part in names(text):
        component, equals, version = part.rpartition("=")
        if equals and component != "kube":
            raise ArgumentTypeError(f"component not registered: {component}")
        if not re.fullmatch(r"v?[0-9]+\.[0-9]+(\.[0-9]+)?", version):
            raise ArgumentTypeError(f"illegal version string {quote(version)}")
    return names(text)


def feature_gates(text: str) -> dict[str, bool]:
    """Return the map of ``name=true,kube:other=false``; ``kube`` is the only component with gates.

    Upstream: ``k8s.io/component-base/featuregate``, whose messages these are.
    """
    gates: dict[str, bool] = {}
    for part in names(text):
        component, colon, gate = part.partition(":")
        if colon and component.strip() != "kube":
            raise ArgumentTypeError(f"component not registered: {component.strip()}")
        name, equals, value = map(str.strip, (gate if colon else part).partition("="))
        if not equals:
            raise ArgumentTypeError(f"missing bool value for {name}")
        gates[name] = _bool_of(f"{name}={value}", value)
    return gates


def runtime_config(text: str) -> dict[str, bool]:
    """Return the map of ``group/version=true,other/version=false``; a key without a value is true, as upstream."""
    config: dict[str, bool] = {}
    for part in names(text):
        key, _, value = map(str.strip, part.partition("="))
        config[key] = _bool_of(f"{key}: {value}", value) if value else True
    return config


def _bool_of(flag: str, value: str) -> bool:
    try:
        return boolean(value)
    except ArgumentTypeError:
        message = f"invalid value of {flag}, err: strconv.ParseBool: parsing {quote(value)}: invalid syntax"
        raise ArgumentTypeError(message) from None


def as_text(value: str | float | tuple[str, ...]) -> str:
    """Format a default for ``--help``: as on a command line, a single word in quotes as pflag."""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value.replace("-", "").isalpha():
        return f'"{value}"'
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
