"""The server, client and clock of the toolkit's tests."""

from tests.unit.runtime.conftest import client, clock, context, dice, server, until

__all__ = ["client", "clock", "context", "dice", "server", "until"]
