"""Old tokens in Secrets that nobody uses are invalidated, and later deleted (``legacy-serviceaccount-token-cleaner``)."""
