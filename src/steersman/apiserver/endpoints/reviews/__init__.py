"""Questions to the server that look like objects: they are posted, answered in their status, and never kept."""
