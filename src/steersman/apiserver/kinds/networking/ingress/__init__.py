"""Strategy and validation of Ingresses."""
