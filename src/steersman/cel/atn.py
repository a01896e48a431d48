"""CEL's grammar as an augmented transition network (ATN), to report syntax errors as ANTLR does.

Left-recursive rules are written as loops, with the precedences that ANTLR assigns.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from steersman.cel.prediction import Automaton
from steersman.cel.tokens import TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: In look-ahead sets: end of the rule.
EPSILON: Final = -1


class Part:
    """Element of a rule; ``state`` is its first state in the network."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state = -1


class Tok(Part):
    """One of a set of tokens."""

    __slots__ = ("types",)

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.types: Final = frozenset(
            TYPE[name if name.isupper() or name == "<EOF>" else f"'{name}'"] for name in names
        )


class Ref(Part):
    """A rule reference, with a precedence for left-recursive rules."""

    __slots__ = ("name", "precedence")

    def __init__(self, name: str, precedence: int = 0) -> None:
        super().__init__()
        self.name: Final = name
        self.precedence: Final = precedence


class Pred(Part):
    """Precedence predicate: passes if the rule was invoked with at most this precedence."""

    __slots__ = ("precedence",)

    def __init__(self, precedence: int) -> None:
        super().__init__()
        self.precedence: Final = precedence


class Seq(Part):
    """Sequence of elements."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Part) -> None:
        super().__init__()
        self.parts: Final = parts


class Alt(Part):
    """Alternatives."""

    __slots__ = ("ll1", "parts")

    def __init__(self, *parts: Part) -> None:
        super().__init__()
        self.parts: Final = parts
        #: Tokens that select each alternative; None if one token does not suffice.
        self.ll1: list[frozenset[int]] | None = None


class Repeat(Part):
    """Optional element (``once``) or repetition, with ``least`` at least one iteration."""

    __slots__ = ("back", "body", "least", "ll1", "once")

    def __init__(self, body: Part, *, once: bool = False, least: bool = False) -> None:
        super().__init__()
        self.body: Final = body
        self.once: Final = once
        self.least: Final = least
        #: State after an iteration.
        self.back = -1
        self.ll1: list[frozenset[int]] | None = None


def opt(*parts: Part) -> Repeat:
    """Return ``(…)?``."""
    return Repeat(Seq(*parts), once=True)


def many(*parts: Part) -> Repeat:
    """Return ``(…)*``."""
    return Repeat(Seq(*parts))


def _rules() -> dict[str, Part]:
    dot, comma, colon = Tok("."), Tok(","), Tok(":")
    arguments = Seq(Tok("("), opt(Ref("exprList")), Tok(")"))
    relations = Tok("<", "<=", ">=", ">", "==", "!=", "in")
    return {
        "start": Seq(Ref("expr"), Tok("<EOF>")),
        "expr": Seq(Ref("conditionalOr"), opt(Tok("?"), Ref("conditionalOr"), colon, Ref("expr"))),
        "conditionalOr": Seq(Ref("conditionalAnd"), many(Tok("||"), Ref("conditionalAnd"))),
        "conditionalAnd": Seq(Ref("relation"), many(Tok("&&"), Ref("relation"))),
        "relation": Seq(Ref("calc"), many(Pred(1), relations, Ref("relation", 2))),
        "calc": Seq(
            Ref("unary"),
            many(Alt(Seq(Pred(2), Tok("*", "/", "%"), Ref("calc", 3)), Seq(Pred(1), Tok("+", "-"), Ref("calc", 2)))),
        ),
        "unary": Alt(
            Ref("member"),
            Seq(Repeat(Tok("!"), least=True), Ref("member")),
            Seq(Repeat(Tok("-"), least=True), Ref("member")),
        ),
        "member": Seq(
            Ref("primary"),
            many(
                Alt(
                    Seq(Pred(3), Tok("."), opt(Tok("?")), Ref("escapeIdent")),
                    Seq(Pred(2), Tok("."), Tok("IDENTIFIER"), Tok("("), opt(Ref("exprList")), Tok(")")),
                    Seq(Pred(1), Tok("["), opt(Tok("?")), Ref("expr"), Tok("]")),
                )
            ),
        ),
        "primary": Alt(
            Seq(opt(dot), Tok("IDENTIFIER")),
            Seq(opt(Tok(".")), Tok("IDENTIFIER"), arguments),
            Seq(Tok("("), Ref("expr"), Tok(")")),
            Seq(Tok("["), opt(Ref("listInit")), opt(Tok(",")), Tok("]")),
            Seq(Tok("{"), opt(Ref("mapInitializerList")), opt(Tok(",")), Tok("}")),
            Seq(
                opt(Tok(".")),
                Tok("IDENTIFIER"),
                many(Tok("."), Tok("IDENTIFIER")),
                Tok("{"),
                opt(Ref("fieldInitializerList")),
                opt(Tok(",")),
                Tok("}"),
            ),
            Ref("literal"),
        ),
        "exprList": Seq(Ref("expr"), many(comma, Ref("expr"))),
        "listInit": Seq(Ref("optExpr"), many(Tok(","), Ref("optExpr"))),
        "fieldInitializerList": Seq(
            Ref("optField"), Tok(":"), Ref("expr"), many(Tok(","), Ref("optField"), Tok(":"), Ref("expr"))
        ),
        "optField": Seq(opt(Tok("?")), Ref("escapeIdent")),
        "mapInitializerList": Seq(
            Ref("optExpr"), Tok(":"), Ref("expr"), many(Tok(","), Ref("optExpr"), Tok(":"), Ref("expr"))
        ),
        "escapeIdent": Alt(Tok("IDENTIFIER"), Tok("ESC_IDENTIFIER")),
        "optExpr": Seq(opt(Tok("?")), Ref("expr")),
        "literal": Alt(
            Seq(opt(Tok("-")), Tok("NUM_INT")),
            Tok("NUM_UINT"),
            Seq(opt(Tok("-")), Tok("NUM_FLOAT")),
            Tok("STRING"),
            Tok("BYTES"),
            Tok("true"),
            Tok("false"),
            Tok("null"),
        ),
    }


class Network:
    """States and transitions."""

    def __init__(self) -> None:
        self.rules: Final = _rules()
        #: Epsilon transitions by state.
        self.free: Final[list[list[int]]] = []
        #: Token transitions by state.
        self.taking: Final[dict[int, tuple[frozenset[int], int]]] = {}
        #: Rule transitions by state: rule name and follow state.
        self.calls: Final[dict[int, tuple[str, int]]] = {}
        #: Precedence transitions by state.
        self.guarded: Final[dict[int, tuple[int, int]]] = {}
        self.starts: Final = {name: self._state() for name in self.rules}
        self.stops: Final = {name: self._state() for name in self.rules}
        self._rule_of_stop: Final = {state: name for name, state in self.stops.items()}
        for name, part in self.rules.items():
            self.free[self._build(part, self.starts[name])].append(self.stops[name])
        #: Follow states by rule.
        self.returns: Final[dict[str, list[int]]] = {name: [] for name in self.rules}
        for name, after in self.calls.values():
            self.returns[name].append(after)
        #: For each state the state that its only epsilon transitions lead to.
        self.settled: Final = [self._settled(state) for state in range(len(self.free))]
        self._looks: Final[dict[int, frozenset[int]]] = {}
        self.automaton: Final = Automaton()
        for part in self.rules.values():
            self._decide(part)

    def _state(self) -> int:
        self.free.append([])
        return len(self.free) - 1

    def _settled(self, state: int) -> int:
        while (
            len(self.free[state]) == 1
            and state not in self._rule_of_stop
            and not any(state in ways for ways in (self.taking, self.calls, self.guarded))
        ):
            state = self.free[state][0]
        return state

    def rule_ending_at(self, state: int) -> str | None:
        """Return the rule whose stop state this is, or None."""
        return self._rule_of_stop.get(state)

    def _build(self, part: Part, begin: int) -> int:
        """Append an element to a state; return the state after it."""
        part.state = begin
        if isinstance(part, Seq):
            for inner in part.parts:
                begin = self._build(inner, begin)
            return begin
        end = self._state()
        match part:
            case Tok():
                self.taking[begin] = (part.types, end)
            case Ref():
                self.calls[begin] = (part.name, end)
            case Pred():
                self.guarded[begin] = (part.precedence, end)
            case Alt():
                for inner in part.parts:
                    first = self._state()
                    self.free[begin].append(first)
                    self.free[self._build(inner, first)].append(end)
            case Repeat():
                self._build_repeat(part, begin, end)
        return end

    def _build_repeat(self, part: Repeat, begin: int, end: int) -> None:
        first = self._state()
        last = self._build(part.body, first)
        if part.once:
            self.free[begin] += [first, end]
            self.free[last].append(end)
            return
        part.back = self._state()
        self.free[last].append(part.back)
        self.free[begin] += [first] if part.least else [first, end]
        self.free[part.back] += [first, end]

    def _decide(self, part: Part) -> None:
        """Compute the decisions that one token of look-ahead resolves."""
        if isinstance(part, (Seq, Alt)):
            for inner in part.parts:
                self._decide(inner)
        if isinstance(part, Alt):
            part.ll1 = self._choices(part.state)
        elif isinstance(part, Repeat):
            self._decide(part.body)
            part.ll1 = self._choices(part.back if part.back >= 0 and not part.once else part.state)

    def _choices(self, state: int) -> list[frozenset[int]] | None:
        looks = [self._with_follow(way) for way in self.free[state]]
        if any(look is None for look in looks):
            return None
        lookaheads = [look for look in looks if look is not None]
        if len(frozenset().union(*lookaheads)) < sum(map(len, lookaheads)):
            return None
        return lookaheads

    def _with_follow(self, state: int) -> frozenset[int] | None:
        """Return the possible next tokens for any caller; None if a precedence decides."""
        if any(inner in self.guarded for inner in self.closure(state)):
            return None
        return frozenset(self._walk(state, set(), everywhere=True))

    def closure(self, state: int) -> set[int]:
        """Return the states reachable by epsilon transitions within the rule."""
        states, waiting = {state}, [state]
        while waiting:
            for way in self.free[waiting.pop()]:
                if way not in states:
                    states.add(way)
                    waiting.append(way)
        return states

    def look(self, state: int) -> frozenset[int]:
        """Return the next tokens within this rule, with EPSILON if it may end."""
        lookahead = self._looks.get(state)
        if lookahead is None:
            lookahead = self._looks[state] = frozenset(self._walk(state, set(), everywhere=False))
        return lookahead

    def _walk(self, state: int, seen: set[int], *, everywhere: bool) -> Iterator[int]:
        if state in seen:
            return
        seen.add(state)
        rule = self._rule_of_stop.get(state)
        if rule is not None:
            if not everywhere:
                yield EPSILON
            for after in self.returns[rule] if everywhere else ():
                yield from self._walk(after, seen, everywhere=True)
        if state in self.taking:
            yield from self.taking[state][0]
        if state in self.guarded:
            yield from self._walk(self.guarded[state][1], seen, everywhere=everywhere)
        if state in self.calls:
            yield from self._walk_call(state, seen, everywhere=everywhere)
        for way in self.free[state]:
            yield from self._walk(way, seen, everywhere=everywhere)

    def _walk_call(self, state: int, seen: set[int], *, everywhere: bool) -> Iterator[int]:
        name, after = self.calls[state]
        inside = set(self._walk(self.starts[name], set(), everywhere=False))
        yield from inside - {EPSILON}
        if EPSILON in inside:
            yield from self._walk(after, seen, everywhere=everywhere)


@cache
def network() -> Network:
    """Return the shared network, built on first use."""
    return Network()


def show_tokens(types: frozenset[int] | set[int], names: Sequence[str]) -> str:
    """Format expected tokens in grammar order, in braces if there are several."""
    shown_names = [names[type_] for type_ in sorted(types)]
    return shown_names[0] if len(shown_names) == 1 else f"{{{', '.join(shown_names)}}}"
