"""Rules that several kinds of the group ``admissionregistration`` share."""
