"""Health checks of the API server and probes of the other components."""
