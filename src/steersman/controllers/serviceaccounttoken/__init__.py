"""Token Secrets of ServiceAccounts (``serviceaccount-token-controller``)."""
