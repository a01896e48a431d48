"""Jobs that have ended go after the time that they say (``ttl-after-finished-controller``)."""
