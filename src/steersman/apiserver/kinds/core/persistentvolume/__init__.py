"""Strategy, validation and warnings of PersistentVolumes."""
