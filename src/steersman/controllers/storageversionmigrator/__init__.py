"""Migration of stored objects to the current storage version (``storage-version-migrator-controller``, KEP-4192).

Requested per resource by a StorageVersionMigration.
"""
