"""Rules that several kinds of the group ``flowcontrol`` share."""
