"""Bootstrap tokens: signatures of ``cluster-info`` and cleanup of expired tokens.

Two controllers, both off by default: ``signer`` (``bootstrap-signer-controller``), ``cleaner``
(``token-cleaner-controller``).
"""
