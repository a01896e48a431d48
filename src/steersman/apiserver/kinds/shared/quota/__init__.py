"""What objects take of the quotas of their namespace. Pure: admission charges by it, and a controller counts by it."""
