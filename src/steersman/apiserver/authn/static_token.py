"""``--token-auth-file``: a CSV file of ``token,user,uid`` and, optionally, ``"group1,group2"``."""

from __future__ import annotations

import csv
import hashlib
import logging
from typing import TYPE_CHECKING

from steersman.apiserver.authn.interface import review_for_server
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from steersman.apiserver.authn.interface import Reviewed

_log = logging.getLogger(__name__)


class TokenFileError(ValueError):
    """Unusable token file; the text gives the line and reason."""


class StaticTokens:
    """Token authenticator of the tokens in a file. Tokens are looked up by hash, so that timing reveals nothing."""

    def __init__(self, tokens: Mapping[str, UserInfo], *, audiences: Sequence[str] = ()) -> None:
        """``audiences``: audiences of this server."""
        self._users = {_digest(token): user for token, user in tokens.items()}
        self._audiences = tuple(audiences)

    def add(self, token: str, user: UserInfo) -> None:
        """Add a token."""
        self._users[_digest(token)] = user

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """Return the user, or None."""
        return self._users.get(_digest(token))

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Return the user, or None, also if ``audiences`` has none of this server's."""
        return await review_for_server(self, token, audiences, own=self._audiences)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def read_token_file(path: Path) -> dict[str, UserInfo]:
    """Read a token file. As kube-apiserver, raises ``TokenFileError`` also if it has no token."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            tokens = _parse(csv.reader(file, skipinitialspace=True), str(path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TokenFileError(f"cannot read the token file {path}: {error}") from error
    return tokens


def _parse(rows: Iterable[list[str]], source: str) -> dict[str, UserInfo]:
    tokens: dict[str, UserInfo] = {}
    for number, row in enumerate(rows, 1):
        if not row:
            continue
        if len(row) < 3:
            raise TokenFileError(f"{source}, row {number}: at least 3 columns are needed (token, user name, user uid)")
        token, name, uid, *rest = row
        if not token:
            _log.warning("%s, row %d has no token and is ignored", source, number)
            continue
        if token in tokens:
            _log.warning("%s, row %d: duplicate token, the last row is used", source, number)
        groups = tuple(rest[0].split(",")) if rest and rest[0] else ()
        tokens[token] = UserInfo(name, groups, uid)
    return tokens
