"""Certificate signing requests: approved where the rules allow it, signed, and cleaned away; pods' own requests, too.

Four controllers over one set of rules: ``approving``, ``signing``, ``cleaner``, ``pod_request_cleaner``; ``issuing``
alone knows cryptography.
"""
