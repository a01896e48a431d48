"""The Pod Security Standards: what pods may not do at the levels *baseline* and *restricted*. Pure."""
