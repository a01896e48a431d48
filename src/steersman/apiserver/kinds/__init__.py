"""Everything special about each kind, in ``kinds/<group>/<kind>``; ``shared`` has rules of several kinds."""
