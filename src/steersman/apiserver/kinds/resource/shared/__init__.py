"""Rules that several kinds of the group ``resource`` share."""
