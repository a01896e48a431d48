"""CertificateSigningRequests: approval, signing and cleanup; cleanup of PodCertificateRequests.

Four controllers over one set of rules: ``approving``, ``signing``, ``cleaner``, ``pod_request_cleaner``; only
``issuing`` uses cryptography.
"""
