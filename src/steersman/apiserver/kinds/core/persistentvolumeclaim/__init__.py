"""Strategy, validation, warnings and quota usage of PersistentVolumeClaims."""
