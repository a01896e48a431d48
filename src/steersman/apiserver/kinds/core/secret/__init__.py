"""Strategy of Secrets. Validation is in ``kinds/shared/config_validation.py``."""
