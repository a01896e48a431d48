"""Certificate signing requests: approved where the rules allow it, signed, and cleaned away.

Three controllers over one set of rules: ``approving``, ``signing``, ``cleaner``; ``issuing`` alone knows cryptography.
"""
