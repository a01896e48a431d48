"""Command line parser of all commands: flags as in Go's ``pflag``, errors of two lines, a short and a full help page.

A boolean flag takes its value only after ``=``; every other flag also takes the next word, even if it begins with ``-``.
Underscores in names of flags are hyphens, as with ``k8s.io/component-base/cli/flag.WordSepNormalizeFunc``.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Exit code for an invalid command line.
EXIT_USAGE: Final = 2


class Example(NamedTuple):
    """Example on a help page, which the tests run."""

    text: str
    command: str


class HelpPage(NamedTuple):
    """Contents of ``--help``. Without ``groups`` it shows all flags; with them the rest is left to ``--help-all``."""

    description: str
    examples: tuple[Example, ...] = ()
    #: Names of flags by title of their group.
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    epilog: str = ""


class FlagParser(argparse.ArgumentParser):
    """Parser of one command."""

    def __init__(self, command: str, page: HelpPage, *, conflict_handler: str = "error") -> None:
        super().__init__(
            f"steersman {command}",
            usage=f"steersman {command} [FLAGS]",
            description=page.description,
            allow_abbrev=False,
            add_help=False,
            exit_on_error=False,
            conflict_handler=conflict_handler,
            formatter_class=_Formatter,
        )
        self._page: Final = page
        self.add_argument("--help", "-h", action=_Help, nargs=0, help=argparse.SUPPRESS)
        if page.groups:
            self.add_argument("--help-all", action=_Help, nargs=0, const=True, help=argparse.SUPPRESS)

    def parse_args(  # type: ignore[override]  # the overloads are about other namespaces, which no command has
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Return the values of the flags. Exit with a message for unknown flags and invalid values."""
        arguments = list(sys.argv[1:] if args is None else args)
        try:
            parsed, unknown = self.parse_known_args(self._with_values(arguments), namespace)
        except argparse.ArgumentError as error:
            self.error(error.message if error.argument_name is None else f"flag needs an argument: {_name(error)}")
        if unknown:
            self.error(self._unknown(unknown))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Exit with the reason and a reference to ``--help``."""
        sys.stderr.write(f"{self.prog}: {message}\nrun '{self.prog} --help' for usage\n")
        sys.exit(EXIT_USAGE)

    def format_help(self) -> str:
        """Return the full page, with every flag."""
        return self.format_page(shows_all=True)

    def format_page(self, *, shows_all: bool) -> str:
        """Return the page of ``--help``, or with ``shows_all`` that of ``--help-all``."""
        page = self._page
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(page.description)
        for title, actions in self._sections(shows_all=shows_all):
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(page.epilog or None)
        text = formatter.format_help()
        if page.examples:
            text += "\nexamples:\n" + "\n".join(
                f"  # {example.text}\n  {example.command}\n" for example in page.examples
            )
        if page.groups and not shows_all:
            text += f"\nrun '{self.prog} --help-all' for all flags\n"
        return text

    def _sections(self, *, shows_all: bool) -> Iterable[tuple[str | None, Iterable[argparse.Action]]]:
        if self._page.groups and not shows_all:
            flags = self._option_string_actions
            return [(title, [flags[f"--{name}"] for name in names]) for title, names in self._page.groups]
        return [
            ("flags" if group.title == "options" else group.title, group._group_actions)
            for group in self._action_groups
        ]

    def _with_values(self, arguments: Sequence[str]) -> list[str]:
        """Join each flag and its value by ``=``, so that values may begin with ``-``."""
        joined: list[str] = []
        rest = iter(range(len(arguments)))
        for index in rest:
            word = _normalized(arguments[index])
            following = arguments[index + 1] if index + 1 < len(arguments) else None
            action = self._option_string_actions.get(word) if word.startswith("--") else None
            if action is not None and action.const is True and action.nargs == "?":
                joined.append(f"{word}=true")
            elif action is not None and action.nargs is None and following is not None and not self._is_flag(following):
                joined.append(f"{word}={following}")
                next(rest)
            else:
                joined.append(word)
        return joined

    def _is_flag(self, word: str) -> bool:
        return word.startswith("--") and _normalized(word).partition("=")[0] in self._option_string_actions

    def _unknown(self, words: Sequence[str]) -> str:
        word = next((word for word in words if word.startswith("-")), words[0])
        if not word.startswith("-"):
            return f'unexpected argument "{word}", the command takes only flags'
        import difflib  # noqa: PLC0415 — only a wrong flag needs it

        name = word.partition("=")[0]
        visible = [
            option
            for option, action in self._option_string_actions.items()
            if option.startswith("--") and (action.help is not argparse.SUPPRESS or action.dest in ("help", "help_all"))
        ]
        nearest = difflib.get_close_matches(name, visible, n=1)
        return f"unknown flag: {name}" + (f"; did you mean {nearest[0]}?" if nearest else "")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Convert a value; the message of a failure is ``pflag``'s."""
        try:
            return (action.type or str)(arg_string)  # type: ignore[operator]  # no parser registers types by name
        except (argparse.ArgumentTypeError, TypeError, ValueError) as error:
            raise argparse.ArgumentError(None, _invalid(action, arg_string, str(error))) from error

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            expected = f"must be one of {', '.join(map(str, action.choices))}"
            raise argparse.ArgumentError(None, _invalid(action, str(value), expected))


class _Formatter(argparse.HelpFormatter):
    """Formatter that breaks no lines within names of controllers."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return textwrap.fill(
            " ".join(text.split()), width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )


class Accumulate(argparse.Action):
    """Append the values of a repeated flag, as ``pflag``'s slices and maps; the default is replaced."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Set or extend the tuple or the map."""
        earlier = getattr(namespace, self.dest, None)
        if earlier is not None and earlier is not self.default:
            values = {**earlier, **values} if isinstance(values, dict) else (*earlier, *values)
        setattr(namespace, self.dest, values)


class _Help(argparse.Action):
    """Write a help page and exit; ``const`` is True for the page with all flags."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Exit."""
        assert isinstance(parser, FlagParser)
        sys.stdout.write(parser.format_page(shows_all=bool(self.const)))
        sys.exit(0)


def _normalized(word: str) -> str:
    """Return a long flag with hyphens in place of underscores; its value and other words are unchanged."""
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value


def _name(error: argparse.ArgumentError) -> str:
    """Return the flag of an error; a flag with a short form is named by the long one."""
    return max((error.argument_name or "").split("/"), key=len)


def _invalid(action: argparse.Action, value: str, reason: str) -> str:
    return f'invalid argument "{value}" for "{max(action.option_strings, key=len)}" flag: {reason}'
