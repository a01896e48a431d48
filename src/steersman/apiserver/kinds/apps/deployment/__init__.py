"""Strategy and validation of Deployments."""
