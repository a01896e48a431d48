"""Rules that several kinds of the group ``storage`` share."""
