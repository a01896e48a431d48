"""Which way to go where one token is not enough: all ways at once, until only one is left (ANTLR's SLL prediction)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.cel.atn import Network


class _Config(NamedTuple):
    """One way, and how far it came."""

    choice: int
    state: int
    #: Where rules entered on the way go on.
    stack: tuple[int, ...]
    #: It left the rule in which the decision stands.
    left: bool


def predict(net: Network, state: int, types: Sequence[int], begin: int, precedence: int) -> tuple[int, int]:
    """The way to take, -1 for none, and the place of the token that decided."""
    configs = _closure(
        net, [_Config(choice, way, (), left=False) for choice, way in enumerate(net.free[state])], precedence
    )
    for place in range(begin, len(types)):
        reached = [
            config._replace(state=net.taking[config.state][1])
            for config in configs
            if config.state in net.taking and types[place] in net.taking[config.state][0]
        ]
        if not reached:
            finished = [config.choice for config in configs if config.left]
            return (min(finished) if finished else -1), place
        configs = _closure(net, reached, precedence)
        choice = _decided(configs)
        if choice >= 0:
            return choice, place
    finished = [config.choice for config in configs]
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
    """All that can be reached without taking a token."""
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
