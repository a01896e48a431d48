"""Tools for asyncio with no Kubernetes in them: the clock, supervised tasks."""
