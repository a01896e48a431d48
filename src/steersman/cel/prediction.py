"""Adaptive prediction (ANTLR's SLL(*)) for decisions that need more than one token of look-ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.cache_sizes import CacheSize
from steersman.apimachinery.workmeter import spend

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.cel.atn import Network


#: Maximum configurations in cached states; deeply nested texts create ever new states.
WAYS_MAX: Final = 200_000
#: Maximum configurations of one state; beyond them the first remaining alternative is taken.
STATE_WAYS_MAX: Final = 2000


_WAY_BYTES: Final = 150


class _Stack:
    """Return states of the entered rules. Equal stacks are one object, so that comparison takes constant time."""

    __slots__ = ("_pushed", "after", "rest")

    def __init__(self, after: int, rest: _Stack | None) -> None:
        #: Return state of the innermost rule.
        self.after: Final = after
        #: Stack without it; None for the empty stack.
        self.rest: Final = rest
        self._pushed: Final[dict[int, _Stack]] = {}

    def push(self, after: int) -> _Stack:
        """Return the stack inside another rule, which returns to ``after``."""
        pushed = self._pushed.get(after)
        if pushed is None:
            pushed = self._pushed[after] = _Stack(after, self)
        return pushed

    def forget(self) -> None:
        """Drop all stacks above this one."""
        self._pushed.clear()


class _Config(NamedTuple):
    """Alternative and its position in the network."""

    choice: int
    state: int
    stack: _Stack
    #: True if it left the rule of the decision.
    left: bool


class Automaton:
    """Cached prediction states (ANTLR's lookahead DFA)."""

    __slots__ = ("_empty", "_size", "_states", "_waiting", "ways")

    def __init__(self) -> None:
        self._waiting: Final[dict[tuple[int, int], _State]] = {}
        self._states: Final[dict[tuple[frozenset[_Config], int], _State]] = {}
        self._empty: Final = _Stack(-1, None)
        #: Number of configurations in cached states.
        self.ways = 0
        self._size: Final = CacheSize("syntax errors of expressions")

    def start(self, net: Network, state: int, precedence: int) -> _State:
        """Return the state before the first token of a decision."""
        if self.ways > WAYS_MAX:
            self._states.clear()
            self._waiting.clear()
            self._empty.forget()
            self.ways = self._size.size_bytes = 0
        cached = self._waiting.get((state, precedence))
        if cached is None:
            ways = [_Config(choice, way, self._empty, left=False) for choice, way in enumerate(net.free[state])]
            cached = self._waiting[state, precedence] = self._state(
                frozenset(_closure(net, ways, precedence)), precedence
            )
        return cached

    def after(self, net: Network, current: _State, token: int, precedence: int) -> _State:
        """Return the state after one more token."""
        following = current.edges.get(token)
        if following is None:
            reached = [
                config._replace(state=net.taking[config.state][1])
                for config in current.configs
                if config.state in net.taking and token in net.taking[config.state][0]
            ]
            following = self._state(frozenset(_closure(net, reached, precedence)), precedence)
            current.edges[token] = following
        return following

    def _state(self, configs: frozenset[_Config], precedence: int) -> _State:
        cached = self._states.get((configs, precedence))
        if cached is None:
            spend(len(configs))
            self.ways += len(configs)
            self._size.size_bytes = _WAY_BYTES * self.ways
            cached = self._states[configs, precedence] = _State(configs, is_last=self.ways > 2 * WAYS_MAX)
        return cached


class _State:
    """Alternatives that are viable after the tokens so far."""

    __slots__ = ("choice", "configs", "edges")

    def __init__(self, configs: frozenset[_Config], *, is_last: bool) -> None:
        """``is_last``: decide despite several viable alternatives, because one prediction has created too many states."""
        self.configs: Final = configs
        #: The decided alternative; -1 while several are viable.
        self.choice: Final = _decided(configs, is_last=is_last) if configs else -1
        #: States by the next token.
        self.edges: Final[dict[int, _State]] = {}


def predict(net: Network, state: int, types: Sequence[int], begin: int, precedence: int) -> tuple[int, int]:
    """Return the alternative, -1 for none, and the index of the token that decided."""
    automaton = net.automaton
    current = automaton.start(net, state, precedence)
    for place in range(begin, len(types)):
        following = automaton.after(net, current, types[place], precedence)
        if not following.configs:
            finished = [config.choice for config in current.configs if config.left]
            return (min(finished) if finished else -1), place
        if following.choice >= 0:
            return following.choice, place
        current = following
    finished = [config.choice for config in current.configs]
    return (min(finished) if finished else -1), len(types) - 1


def _decided(configs: frozenset[_Config], *, is_last: bool) -> int:
    """Return the only viable alternative, or the first of several with equal continuations; -1 if undecided."""
    ways: dict[tuple[int, _Stack], set[int]] = {}
    choices: set[int] = set()
    for config in configs:
        ways.setdefault((config.state, config.stack), set()).add(config.choice)
        choices.add(config.choice)
    if (
        len(choices) == 1
        or is_last
        or len(ways) > STATE_WAYS_MAX
        or all(len(alternatives) > 1 for alternatives in ways.values())
    ):
        return min(choices)
    return -1


def _closure(net: Network, configs: Iterable[_Config], precedence: int) -> set[_Config]:
    """Return the configurations reached without consuming a token."""
    reached: set[_Config] = set()
    waiting = list(configs)
    while waiting:
        config = waiting.pop()
        if config in reached:
            continue
        reached.add(config)
        choice, state, stack, left = config
        rule = net.rule_ending_at(state)
        if rule is not None:
            if stack.rest is not None:
                waiting.append(_Config(choice, stack.after, stack.rest, left))
            else:
                waiting.extend([_Config(choice, after, stack, left=True) for after in net.returns[rule]])
            continue
        if state in net.calls:
            name, after = net.calls[state]
            if stack.rest is not None:  # configurations that differ only in empty steps behind a nested rule are equal
                after = net.settled[after]
            waiting.append(_Config(choice, net.starts[name], stack.push(after), left))
        if state in net.guarded:
            needed, after = net.guarded[state]
            own = stack.rest is None and not left
            if not own or needed >= precedence:
                waiting.append(_Config(choice, after, stack, left))
        waiting.extend([_Config(choice, way, stack, left) for way in net.free[state]])
    return reached
