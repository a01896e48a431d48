"""Container commands that the simulated kubelet supports."""

from __future__ import annotations

import pytest
from tests.unit.nodes.simulation.simulated import Simulation, pod

from steersman.apimachinery.trees import Tree
from steersman.nodes.simulation.programs import Program, program_of


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["echo", "hi"], Program(0, 0, "", ((0, "hi\n"),))),
        (["/bin/echo", "-n", "a", "b"], Program(0, 0, "", ((0, "a b"),))),
        (["true"], Program(0)),
        (["/bin/false"], Program(0, 1)),
        (["sleep", "1.5", "2m"], Program(121.5)),
        (["sleep", "infinity"], Program(None)),
        (["printf", "a\\nb"], Program(0, 0, "", ((0, "a\nb"),))),
        (sh("exit 3"), Program(0, 3)),
        (["/bin/bash", "-ec", "echo a; false; echo b"], Program(0, 1, "", ((0, "a\n"),))),
        (sh("echo a; false; echo b"), Program(0, 0, "", ((0, "a\n"), (0, "b\n")))),
        (sh("set -e; false || true; sleep 1; false; echo no"), Program(1, 1)),
        (sh("echo a && sleep 2 && echo b\nexit 4"), Program(2, 4, "", ((0, "a\n"), (2, "b\n")))),
        (sh("false && echo no || echo 'yes; $X'"), Program(0, 0, "", ((0, "yes; $X\n"),))),
        (sh("true ||\n echo no"), Program(0)),
        (sh('echo "it\'s $NAME, ${NAME}"'), Program(0, 0, "", ((0, "it's steersman, steersman\n"),))),
        (["echo", "$(NAME) $NAME"], Program(0, 0, "", ((0, "steersman $NAME\n"),))),
        (sh("echo start; sleep infinity; echo no"), Program(None, 0, "", ((0, "start\n"),))),
        (sh("exit 300"), Program(0, 44)),
        (sh("echo a >/dev/null; echo b"), Program(0, 0, "", ((0, "b\n"),))),
        (sh("echo -n a > /dev/termination-log; sleep 2"), Program(2, termination_log="a")),
        (sh("echo a>'/dev/termination-log'; echo b >> /dev/termination-log"), Program(0, termination_log="a\nb\n")),
        (sh("echo a > /dev/termination-log; > /dev/termination-log printf b"), Program(0, termination_log="b")),
        (sh("echo a\u2028b\u00a0 c\x85"), Program(0, 0, "", ((0, "a\u2028b\u00a0 c\x85\n"),))),
        (sh(""), Program(0)),
    ],
)
def test_program_of_supports_command(words: list[str], program: Program) -> None:
    assert program_of({"args": words, "env": [{"name": "NAME", "value": "steersman"}]}) == program


@pytest.mark.parametrize(
    "words",
    [
        ["nginx"],
        ["sh"],
        ["sh", "script.sh"],
        ["exit", "3"],
        ["sleep", "soon"],
        ["sleep"],
        ["echo", "-e", "a"],
        ["printf", "%s", "a"],
        sh("nginx"),
        sh("echo a; nginx"),
        sh("false && nginx"),
        sh("echo a > /file"),
        sh("false && echo a > /file"),
        sh("echo a 2> /dev/null"),
        sh("echo a > /dev/null > /dev/null"),
        sh("echo a >&2"),
        sh("echo a >"),
        sh("> /dev/null"),
        sh("echo a | cat"),
        sh("echo $(date)"),
        sh("echo `date`"),
        sh("echo $UNKNOWN"),
        sh("echo *"),
        sh("echo 'open"),
        sh('echo "it\'s" > f; echo "that\'s"'),
        sh("while true; do sleep 1; done"),
        sh("sleep 1 &"),
        sh("X=1; echo $X"),
        sh("echo a &&"),
        sh("exit x"),
        sh("echo a\f"),
        sh("echo \x0b b"),
    ],
)
def test_program_of_rejects_other_commands(words: list[str]) -> None:
    assert program_of({"command": words}) is None


def test_bare_pod_ends_with_its_command() -> None:
    world = Simulation(pod(container={"args": sh("echo hi; sleep 5; exit 3")}, restartPolicy="Never"))
    assert world.run(9) == [(0.0, "Running", "Ready"), (5.0, "Failed", "Error")]
    assert world.status_of()["state"]["terminated"]["exitCode"] == 3


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"args": sh("echo -n done > /dev/termination-log")}, "done"),
        ({"args": sh("echo done > /m; false"), "terminationMessagePath": "/m"}, "done\n"),
        ({"args": sh("echo -n done; false"), "terminationMessagePolicy": "FallbackToLogsOnError"}, "done"),
        ({"args": sh("echo -n done; true"), "terminationMessagePolicy": "FallbackToLogsOnError"}, None),
        ({"args": sh("echo -n done; false"), "terminationMessagePolicy": "File"}, None),
    ],
)
def test_terminated_state_has_the_termination_message(container: Tree, message: str | None) -> None:
    world = Simulation(pod(container=container, restartPolicy="Never"))
    world.run(1)
    assert world.status_of()["state"]["terminated"].get("message") == message


def test_command_is_ignored_when_stages_never_end() -> None:
    world = Simulation(pod(container={"args": ["echo", "hi"]}, restartPolicy="Never"), ends=False)
    assert world.run(3600) == [(0.0, "Running", "Ready")]


def test_init_container_takes_the_time_of_its_command() -> None:
    inits = [{"name": "a", "image": "i", "command": ["sleep", "4"]}, {"name": "b", "image": "i"}]
    world = Simulation(pod(initContainers=inits))
    assert world.run(9) == [
        (0.0, "Pending", "Running", "PodInitializing", "PodInitializing"),
        (4.0, "Running", "Completed", "Completed", "Ready"),
    ]
    assert world.status_of("a")["ready"] is True
