"""Rules that several kinds of the group ``networking`` share."""
