"""Bootstrap tokens: what nodes that join trust is signed with them, and they go when their time is over.

Two controllers, both off by default: ``signer`` (``bootstrap-signer-controller``), ``cleaner``
(``token-cleaner-controller``).
"""
