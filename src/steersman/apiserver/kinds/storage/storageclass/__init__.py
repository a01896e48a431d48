"""Strategy and validation of StorageClasses."""
