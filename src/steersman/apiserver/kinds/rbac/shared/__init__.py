"""Rules that several kinds of the group ``rbac`` share."""
