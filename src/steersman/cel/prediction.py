"""Adaptive prediction where one token does not decide: all alternatives are followed until one is left (ANTLR's SLL(*))."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.cel.atn import Network


#: States that are kept; deeply nested texts make ever new ones.
STATES_MAX: Final = 2000


class _Config(NamedTuple):
    """One way, and how far it came."""

    choice: int
    state: int
    #: Where rules entered on the way go on.
    stack: tuple[int, ...]
    #: It left the rule in which the decision stands.
    left: bool


class Automaton:
    """The states that predictions have reached (ANTLR's lookahead DFA); computing one takes far longer than a look-up."""

    __slots__ = ("_states", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, int], _State] = {}
        self._states: dict[tuple[frozenset[_Config], int], _State] = {}

    @property
    def size(self) -> int:
        """How many states are kept."""
        return len(self._states)

    def start(self, net: Network, state: int, precedence: int) -> _State:
        """Return the state before the first token of a decision."""
        known = self._waiting.get((state, precedence))
        if known is None:
            if len(self._states) > STATES_MAX:
                self._states.clear()
                self._waiting.clear()
            ways = [_Config(choice, way, (), left=False) for choice, way in enumerate(net.free[state])]
            known = self._waiting[state, precedence] = self._state(
                frozenset(_closure(net, ways, precedence)), precedence
            )
        return known

    def after(self, net: Network, current: _State, token: int, precedence: int) -> _State:
        """Return the state after one more token."""
        known = current.edges.get(token)
        if known is None:
            reached = [
                config._replace(state=net.taking[config.state][1])
                for config in current.configs
                if config.state in net.taking and token in net.taking[config.state][0]
            ]
            known = self._state(frozenset(_closure(net, reached, precedence)), precedence)
            current.edges[token] = known
        return known

    def _state(self, configs: frozenset[_Config], precedence: int) -> _State:
        known = self._states.get((configs, precedence))
        if known is None:
            known = self._states[configs, precedence] = _State(configs)
        return known


class _State:
    """The set of alternatives that the tokens so far leave open."""

    __slots__ = ("choice", "configs", "edges")

    def __init__(self, configs: frozenset[_Config]) -> None:
        self.configs: Final = configs
        #: The way that is decided on; -1 while several are open.
        self.choice: Final = _decided(configs) if configs else -1
        #: States by the next token.
        self.edges: Final[dict[int, _State]] = {}


def predict(net: Network, state: int, types: Sequence[int], begin: int, precedence: int) -> tuple[int, int]:
    """The way to take, -1 for none, and the place of the token that decided."""
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


def _decided(configs: Iterable[_Config]) -> int:
    """The only way left, or the first of several that are the same from here on; -1 if it is still open."""
    ways: dict[tuple[int, tuple[int, ...]], set[int]] = {}
    choices: set[int] = set()
    for config in configs:
        ways.setdefault((config.state, config.stack), set()).add(config.choice)
        choices.add(config.choice)
    if len(choices) == 1 or all(len(known) > 1 for known in ways.values()):
        return min(choices)
    return -1


def _closure(net: Network, configs: Iterable[_Config], precedence: int) -> set[_Config]:
    """Return the configurations reached without consuming a token."""
    found: set[_Config] = set()
    waiting = list(configs)
    while waiting:
        config = waiting.pop()
        if config in found:
            continue
        found.add(config)
        state = config.state
        rule = net.rule_ending_at(state)
        if rule is not None:
            if config.stack:
                waiting.append(config._replace(state=config.stack[-1], stack=config.stack[:-1]))
            else:
                waiting.extend(config._replace(state=after, left=True) for after in net.returns[rule])
            continue
        if state in net.calls:
            name, after = net.calls[state]
            waiting.append(config._replace(state=net.starts[name], stack=(*config.stack, after)))
        if state in net.guarded:
            needed, after = net.guarded[state]
            own = not config.stack and not config.left
            if not own or needed >= precedence:
                waiting.append(config._replace(state=after))
        waiting.extend(config._replace(state=way) for way in net.free[state])
    return found
