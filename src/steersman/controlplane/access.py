"""Authentication and authorization, put together from options (``BuildAuthn``/``BuildAuthorizer`` of kube-apiserver)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authn.bearer import BearerToken, WebSocketToken
from steersman.apiserver.authn.client_certificate import ClientCertificate
from steersman.apiserver.authn.interface import MASTERS_GROUP
from steersman.apiserver.authn.static_token import StaticTokens, TokenFileError, read_token_file
from steersman.apiserver.authn.union import Union
from steersman.apiserver.authz.modes import AlwaysAllow, AlwaysDeny, Chain, PrivilegedGroups, PublicInfo
from steersman.apiserver.request import UserInfo
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.authn.interface import RequestAuthenticator, TokenAuthenticator
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.controlplane.options import APIServerOptions

#: Who the server is to itself.
LOOPBACK_USER: Final = UserInfo("system:apiserver", (MASTERS_GROUP,))

_MODES: Final[dict[str, Callable[[], Authorizer]]] = {
    "AlwaysAllow": AlwaysAllow,
    "AlwaysDeny": AlwaysDeny,
    "Groups": PublicInfo,
}


def build_authenticator(options: APIServerOptions, *, loopback_token: str) -> RequestAuthenticator:
    """Client certificates, then tokens. Raises ``OptionError``."""
    users = {loopback_token: LOOPBACK_USER}
    if options.token_auth_file is not None:
        try:
            users |= read_token_file(options.token_auth_file)
        except TokenFileError as error:
            raise OptionError(str(error)) from error
    tokens: list[TokenAuthenticator] = [StaticTokens(users)]
    return Union(
        [ClientCertificate(), BearerToken(tokens), WebSocketToken(tokens)],
        anonymous=options.anonymous_auth,
    )


def build_authorizer(options: APIServerOptions) -> Authorizer:
    """``system:masters`` first, then the modes in their order. Raises ``OptionError``."""
    unknown = [mode for mode in options.authorization_mode if mode not in _MODES]
    if unknown or not options.authorization_mode:
        raise OptionError(
            f"authorization mode {', '.join(unknown) or '(none)'} is not served, use one of {', '.join(_MODES)}"
        )
    return Chain([PrivilegedGroups(), *(_MODES[mode]() for mode in options.authorization_mode)])
