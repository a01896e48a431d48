"""In-tree plugins of the default profile, one concern per module, independent of each other."""
