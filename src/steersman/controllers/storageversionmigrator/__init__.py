"""Objects are stored anew in the version, and with the keys, of today (``storage-version-migrator-controller``).

KEP-4192. Whoever wants it for a resource makes a StorageVersionMigration.
"""
