"""Strategies of the built-in kinds, one per ``kinds/<group>/<kind>``; ``shared`` has rules of several kinds."""
