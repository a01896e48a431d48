"""Files that options name: reading, and validation before anything is started."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from steersman.apimachinery.gotext import errno_text
from steersman.asynckit.clock import RealClock
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from pathlib import Path


def check_readable(flag: str, path: Path) -> None:
    """Raise ``OptionError`` unless ``path`` is a file that this process can read."""
    try:
        if path.is_dir():
            raise OptionError(f"{flag}: {path} is a directory, expected a file")
        with path.open("rb"):
            pass
    except OSError as error:
        raise OptionError(f"{flag}: cannot read {path}: {errno_text(error)}") from error


def read_file(flag: str, path: Path) -> bytes:
    """Return the contents of a file that ``flag`` names. Raises ``OptionError``."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise OptionError(f"{flag}: cannot read {path}: {errno_text(error)}") from error
    except ValueError as error:  # a path with a null character
        raise OptionError(f"{flag}: cannot read {str(path)!r}: {error}") from error


def check_key_pair(flags: str, certificate: Path | str, key: Path | str) -> None:
    """Raise ``OptionError`` unless two files are a certificate and its key."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise OptionError(f"{flags}: {certificate} and {key} are not a PEM certificate and its key") from error


def check_kubeconfig(flag: str, path: Path) -> None:
    """Raise ``OptionError`` unless a webhook's kubeconfig can be read."""
    from steersman.controlplane.kubeconfig_webhook import (  # noqa: PLC0415 — few servers have webhooks of this kind
        read_webhook_kubeconfig,
    )

    read_webhook_kubeconfig(flag, path, clock=RealClock())
