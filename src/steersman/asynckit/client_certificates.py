"""TLS server contexts that accept client certificates which do not verify, and the chains of those that do.

``ssl`` ends the handshake when a client certificate does not verify. Go's ``tls.RequestClientCert`` does not: an authenticator
judges the certificate, and another credential of the same request may be valid. Here a callback lets OpenSSL verify in the
handshake with the same settings, and sets the chain of the connection only if that succeeds: otherwise ``verified_chain``
is empty. A caller must treat a certificate without a verified chain as absent.

The callback is OpenSSL's documented ``SSL_CTX_set_cert_verify_callback``, called with ``ctypes`` in the libssl that ``ssl``
itself is linked to. The address of a context comes from OpenSSL: a callback of ``CRYPTO_get_ex_new_index`` reports each
context that is created. No private struct is read, and a libssl that ``ssl`` does not use reports nothing. Where there
is no such libssl (linked statically, other implementations of Python) a context ends handshakes as ``ssl`` does
(``docs/decisions/0008-client-certificates.md``).
"""

from __future__ import annotations

import ctypes
import logging
import ssl
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_log = logging.getLogger(__name__)

#: ``CRYPTO_EX_INDEX_SSL_CTX`` of OpenSSL's crypto.h.
_EX_INDEX_SSL_CTX: Final = 1
#: ``SSL_CTRL_SET_GROUPS_LIST`` of OpenSSL's ssl.h.
_SET_GROUPS_LIST: Final = 92
_POINTER: Final = ctypes.c_void_p
#: ``CRYPTO_EX_new``: parent, ptr, ad, idx, argl, argp.
_NewContext: Final = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER, ctypes.c_int, ctypes.c_long, _POINTER)
#: Callback of ``SSL_CTX_set_cert_verify_callback``: store context, argument.
_Verify: Final = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER)
_SIGNATURES: Final = (
    ("CRYPTO_get_ex_new_index", ctypes.c_int, (ctypes.c_int, ctypes.c_long, _POINTER, _NewContext, _POINTER, _POINTER)),
    ("CRYPTO_free_ex_index", ctypes.c_int, (ctypes.c_int, ctypes.c_int)),
    ("ERR_set_mark", ctypes.c_int, ()),
    ("ERR_pop_to_mark", ctypes.c_int, ()),
    ("OpenSSL_version_num", ctypes.c_ulong, ()),
    ("SSL_CTX_ctrl", ctypes.c_long, (_POINTER, ctypes.c_int, ctypes.c_long, ctypes.c_char_p)),
    ("SSL_CTX_set_cert_verify_callback", None, (_POINTER, _Verify, _POINTER)),
    ("X509_STORE_CTX_free", None, (_POINTER,)),
    ("X509_STORE_CTX_get0_cert", _POINTER, (_POINTER,)),
    ("X509_STORE_CTX_get0_param", _POINTER, (_POINTER,)),
    ("X509_STORE_CTX_get0_store", _POINTER, (_POINTER,)),
    ("X509_STORE_CTX_get0_untrusted", _POINTER, (_POINTER,)),
    ("X509_STORE_CTX_get1_chain", _POINTER, (_POINTER,)),
    ("X509_STORE_CTX_init", ctypes.c_int, (_POINTER, _POINTER, _POINTER, _POINTER)),
    ("X509_STORE_CTX_new", _POINTER, ()),
    ("X509_STORE_CTX_set0_verified_chain", None, (_POINTER, _POINTER)),
    ("X509_VERIFY_PARAM_set1", ctypes.c_int, (_POINTER, _POINTER)),
    ("X509_verify_cert", ctypes.c_int, (_POINTER,)),
)


def server_context(groups: Sequence[str] = ()) -> ssl.SSLContext:
    """Return a context for TLS servers, whose handshakes do not end for client certificates that do not verify.

    Its ``verify_mode`` is ``CERT_NONE`` until it is set. ``groups``: OpenSSL's names of the groups of the key exchange, the
    most preferred first; empty for its defaults. Raises ``ValueError`` for groups that cannot be set.
    """
    openssl = _openssl()
    if openssl is not None:
        return openssl.create_context(":".join(groups))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if len(groups) > 1:
        raise ValueError("ssl's libssl is not accessible, which several curves need")
    for group in groups:
        context.set_ecdh_curve(group)
    return context


def verified_chain(tls: Any) -> list[Any]:
    """Return the certificates from the client's to the CA's: ``tls`` is an ``SSLObject``.

    Empty without a certificate, for one that does not verify, and for a resumed session, which does not keep the chain.
    ``SSLObject.get_verified_chain`` is public since Python 3.13 and returns encoded certificates; the underlying method
    is the same in all versions and returns objects with ``get_info`` and ``public_bytes``.
    """
    get_chain = getattr(getattr(tls, "_sslobj", None), "get_verified_chain", None)
    return list((get_chain() if get_chain is not None else None) or ())


class _OpenSSL:
    """Functions of the libssl that ``ssl`` uses. Raises ``AttributeError``, ``OSError`` without one."""

    def __init__(self) -> None:
        import _ssl  # noqa: PLC0415 — an extension module, or part of the interpreter

        self._functions: Final = ctypes.CDLL(_ssl.__file__)
        for name, result, arguments in _SIGNATURES:
            function = getattr(self._functions, name)
            function.restype, function.argtypes = result, arguments
        self._lock: Final = threading.Lock()
        #: Threads and addresses of the contexts that were created while an index was registered.
        self._created: list[tuple[int, int]] = []
        self._on_created: Final = _NewContext(self._record_created)
        #: OpenSSL keeps its address in each context: it lives as long as the process.
        self._on_verify: Final = _Verify(self._verify)

    @property
    def version(self) -> int:
        """Number of the version, as ``ssl.OPENSSL_VERSION_NUMBER``."""
        number: int = self._functions.OpenSSL_version_num()
        return number

    def create_context(self, groups: str) -> ssl.SSLContext:
        """Return a context with the callback; without it if OpenSSL does not report the context's address.

        ``groups``: names separated by colons, empty for the defaults. Raises ``ValueError`` if they cannot be set.
        """
        with self._lock:
            index = self._functions.CRYPTO_get_ex_new_index(_EX_INDEX_SSL_CTX, 0, None, self._on_created, None, None)
            try:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            finally:
                self._functions.CRYPTO_free_ex_index(_EX_INDEX_SSL_CTX, index)
                thread = threading.get_ident()
                addresses = [address for creator, address in self._created if creator == thread]
                self._created.clear()
        if groups and (len(addresses) != 1 or not self._set_groups(addresses[0], groups)):
            raise ValueError(f"OpenSSL does not support the groups {groups}")
        if len(addresses) == 1:
            self._functions.SSL_CTX_set_cert_verify_callback(addresses[0], self._on_verify, None)
        else:
            _log.warning("OpenSSL reported %d contexts for one: unknown client certificates end connections", len(addresses))  # fmt: skip
        return context

    def _set_groups(self, context: int, groups: str) -> bool:
        functions = self._functions
        functions.ERR_set_mark()
        try:
            is_set: bool = functions.SSL_CTX_ctrl(context, _SET_GROUPS_LIST, 0, groups.encode()) == 1
        finally:
            functions.ERR_pop_to_mark()
        return is_set

    def _record_created(self, address: int, *_: object) -> None:
        self._created.append((threading.get_ident(), address))

    def _verify(self, store_context: int, _: object) -> int:
        """Verify a client's certificate, and set the chain of the connection if it verifies.

        Verification happens in a context of its own, as it leaves a chain when it fails, too: an exception at any place, after
        which ``ctypes`` returns any number, must not leave one here.
        """
        functions = self._functions
        trial = functions.X509_STORE_CTX_new()
        functions.ERR_set_mark()  # errors that stay in the queue would fail the handshake later
        try:
            if self._is_verified(trial, store_context):
                chain = functions.X509_STORE_CTX_get1_chain(trial)
                functions.X509_STORE_CTX_set0_verified_chain(store_context, chain)
        finally:
            functions.ERR_pop_to_mark()
            functions.X509_STORE_CTX_free(trial)
        return 1

    def _is_verified(self, trial: int, store_context: int) -> bool:
        """Report whether the certificate of one context verifies in another, with the same authorities and parameters."""
        functions = self._functions
        store = functions.X509_STORE_CTX_get0_store(store_context)
        certificate = functions.X509_STORE_CTX_get0_cert(store_context)
        untrusted = functions.X509_STORE_CTX_get0_untrusted(store_context)
        parameters = functions.X509_STORE_CTX_get0_param(store_context)
        verified: bool = (
            functions.X509_STORE_CTX_init(trial, store, certificate, untrusted) == 1
            and functions.X509_VERIFY_PARAM_set1(functions.X509_STORE_CTX_get0_param(trial), parameters) == 1
            and functions.X509_verify_cert(trial) == 1
        )
        return verified


@cache
def _openssl() -> _OpenSSL | None:
    try:
        openssl = _OpenSSL()
    except (AttributeError, ImportError, MemoryError, OSError) as error:
        _log.info(
            "client certificates that do not verify end connections, as ssl's libssl is not accessible: %s", error
        )
        return None
    if openssl.version != ssl.OPENSSL_VERSION_NUMBER:
        _log.info("client certificates that do not verify end connections, as ssl uses another libssl")
        return None
    return openssl
