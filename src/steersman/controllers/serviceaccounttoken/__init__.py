"""Secrets that ask for a service account's token get it, and go with the account (``serviceaccount-token-controller``)."""
