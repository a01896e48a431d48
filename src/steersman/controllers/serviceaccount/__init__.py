"""Every namespace that is not on its way out has an account ``default`` (``serviceaccount-controller``)."""
