"""Tables of flags: one row per flag, in the groups of upstream's ``--help``.

A row sets the option of the same name. Rows without an option of the command are accepted, for compatibility with command lines
of Kubernetes components, and reported by ``without_effect``. ``refused`` rows end the command: ignoring the flag would omit
something that the user relies on.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.cli import values
from steersman.cli.flag_parser import Accumulate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from steersman.cli.flag_parser import FlagParser

#: Readers of lists and maps: a repeated flag appends its values, as ``pflag``'s slices and maps.
ACCUMULATED: Final = frozenset(
    {
        values.names,
        values.paths,
        values.pairs,
        values.string_to_string,
        values.controllers,
        values.feature_gates,
        values.runtime_config,
        values.integers,
        values.certificate_pairs,
        values.module_levels,
        values.emulated_versions,
    }
)


class Flag(msgspec.Struct, frozen=True):
    """Flag and the option that its value sets: ``option``, or the one of the same name."""

    name: str
    type: Callable[[str], Any]
    help: str
    option: str = ""
    #: Why a flag without an option has no effect, for the log.
    unused: str = ""
    #: Reason for rejecting a command line with the flag.
    refused: str = ""
    #: Message of ``pflag``'s ``MarkDeprecated``.
    deprecated: str = ""

    @property
    def target(self) -> str:
        """Name of the option."""
        return self.option or self.name.replace("-", "_") + ("_seconds" if self.type is values.duration else "")


#: Rows by title of their group.
FlagTable = dict[str, tuple[Flag, ...]]


def add_table(parser: FlagParser, table: Mapping[str, Iterable[Flag]], *options: type[msgspec.Struct]) -> None:
    """Add the flags to the parser, one argument group for each group. Flags that are not given set nothing."""
    defaults = defaults_of(options)
    for title, flags in table.items():
        group = group_of(parser, title)
        for flag in flags:
            _add(group, flag, defaults)


def group_of(parser: FlagParser, title: str) -> argparse._ArgumentGroup:
    """Return the argument group of that title, created if absent."""
    group = next((group for group in parser._action_groups if group.title == title), None)
    return group or parser.add_argument_group(title)


def defaults_of(options: Sequence[type[msgspec.Struct]]) -> dict[str, Any]:
    """Return the default of each option."""
    return {field.name: field.default for option in options for field in msgspec.structs.fields(option)}


def _add(group: argparse._ArgumentGroup, flag: Flag, defaults: Mapping[str, Any]) -> None:
    # A boolean flag may stand alone, as in pflag.
    more: dict[str, Any] = {"nargs": "?", "const": True} if flag.type is values.boolean else {}
    if flag.type in ACCUMULATED:
        more["action"] = Accumulate
    group.add_argument(
        f"--{flag.name}",
        dest=flag.target,
        type=_refuse(flag) if flag.refused else flag.type,
        help=argparse.SUPPRESS if flag.deprecated or flag.refused else _help(flag, defaults),
        default=argparse.SUPPRESS,
        metavar="BOOL" if flag.type is values.boolean else flag.name.rsplit("-", 1)[-1].upper(),
        **more,
    )


def _refuse(flag: Flag) -> Callable[[str], Any]:
    def refuse(text: str) -> Any:
        if text:  # an empty value is the default of every such flag
            raise argparse.ArgumentTypeError(flag.refused)
        return text

    return refuse


def _help(flag: Flag, defaults: Mapping[str, Any]) -> str:
    if flag.target not in defaults:
        return f"{flag.help} (no effect: {flag.unused})" if flag.unused else flag.help
    default = _default_text(flag, defaults[flag.target])
    return f"{flag.help} (default {default})" if default else flag.help


def _default_text(flag: Flag, default: Any) -> str:
    is_list = isinstance(default, tuple) and all(isinstance(item, str) for item in default)
    if not is_list and not isinstance(default, str | int | float):
        return ""
    return values.as_text(default) + ("s" if flag.type is values.duration else "")


def explicit_flags(parsed: argparse.Namespace, table: Mapping[str, Iterable[Flag]]) -> list[Flag]:
    """Return the rows of the given flags, in the order of the table."""
    return [flag for flags in table.values() for flag in flags if hasattr(parsed, flag.target)]


def without_effect(
    parsed: argparse.Namespace,
    table: Mapping[str, Iterable[Flag]],
    *options: type[msgspec.Struct],
    handled: Collection[str] = (),
) -> list[str]:
    """Return one message for each given flag without effect. ``handled``: names of values that the command uses in addition to
    options.
    """
    supported = {*defaults_of(options), *handled}
    return [
        f"flag --{flag.name} has no effect" + (f": {flag.unused}" if flag.unused else "")
        for flag in explicit_flags(parsed, table)
        if flag.target not in supported
    ]


def deprecations(parsed: argparse.Namespace, table: Mapping[str, Iterable[Flag]]) -> list[str]:
    """Return ``pflag``'s message for each given deprecated flag."""
    return [
        f"Flag --{flag.name} has been deprecated, {flag.deprecated}"
        for flag in explicit_flags(parsed, table)
        if flag.deprecated
    ]
