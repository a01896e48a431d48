"""Values as Kubernetes components write them."""

from argparse import ArgumentTypeError

import pytest

from steersman.cli import values


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("1m0s", 60), ("1h15m30.5s", 4530.5), ("250ms", 0.25), (".5s", 0.5)]
)
def test_durations(text, seconds):
    assert values.duration(text) == seconds


@pytest.mark.parametrize(("text", "ports"), [("30000-32767", (30000, 32767)), ("80", (80, 80)), ("100+10", (100, 110))])
def test_ranges_of_ports(text, ports):
    assert values.port_range(text) == ports


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("False", False), ("0", False)])
def test_booleans(text, value):
    assert values.boolean(text) is value


def test_lists_and_switches():
    assert values.names("a, b,,c") == ("a", "b", "c")
    assert values.pairs("a=b=c, d=") == {"a": "b=c", "d": ""}
    assert values.switches("A=true,B=false,C") == {"A": True, "B": False, "C": True}


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (values.duration, "5"),
        (values.duration, "s"),
        (values.duration, "-1s"),
        (values.port, "65536"),
        (values.port, "-1"),
        (values.port, "²"),
        (values.port_range, "2-1"),
        (values.port_range, "65535+1"),
        (values.count, "1.5"),
        (values.boolean, "yes"),
        (values.switches, "A=perhaps"),
        (values.pairs, "a"),
        (values.pairs, "=b"),
    ],
)
def test_nonsense_is_refused(read, text):
    with pytest.raises(ArgumentTypeError):
        read(text)


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("2.5", 2.5), ("1e3", 1000.0)])
def test_a_number_may_have_a_fraction(text, value):
    assert values.number(text) == value


@pytest.mark.parametrize("text", ["", "-1", "x", "nan", "inf"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ArgumentTypeError):
        values.number(text)
