"""Bound of waits on the real clock."""

from typing import Final

#: Ends a wait for an event that never comes. No result depends on it: on a busy machine a start may take a minute.
HANG_SECONDS: Final = 120
