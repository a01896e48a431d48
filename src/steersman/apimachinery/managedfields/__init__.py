"""Server-side apply and field ownership: who set which field, ``metadata.managedFields``, conflicts.

Start at ``updating.update`` (every create, update and patch) and ``applying.apply``.
"""
