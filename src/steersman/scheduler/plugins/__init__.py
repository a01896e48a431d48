"""The rules of the default profile, one concern a module; none knows another."""
