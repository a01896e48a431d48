"""Output of a process in an unnamed file, which remains readable after the process has ended."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Final


class Output:
    """File that a process writes to through ``descriptor``."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile() as file:
            self.descriptor: Final = os.dup(file.fileno())
        weakref.finalize(self, os.close, self.descriptor)

    @property
    def text(self) -> str:
        """Text written so far."""
        size = os.fstat(self.descriptor).st_size
        return os.pread(self.descriptor, size, 0).decode(errors="replace")
