"""Termination messages of containers."""

import pytest

from steersman.nodes.termination_message import termination_message

FALLBACK = {"terminationMessagePolicy": "FallbackToLogsOnError"}


@pytest.mark.parametrize(
    ("container", "code", "written", "log", "message"),
    [
        ({}, 0, b"done", b"log", "done"),
        ({}, 1, b"", b"log", ""),
        (FALLBACK, 1, b"", b"log", "log"),
        (FALLBACK, 0, b"", b"log", ""),
        (FALLBACK, 1, b"done", b"log", "done"),
        ({}, 0, b"x" + b"y" * 4096, b"", "y" * 4096),
        (FALLBACK, 1, b"", b"x" + b"y" * 2048, "y" * 2048),
        (FALLBACK, 1, b"", b"x\n" + b"y\n" * 80, "y\n" * 80),
    ],
)
def test_termination_message_is_the_end_of_the_file_or_of_the_log(container, code, written, log, message):
    assert termination_message(container, code=code, written=written, log=log) == message
