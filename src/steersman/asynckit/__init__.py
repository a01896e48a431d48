"""asyncio building blocks without Kubernetes concepts: clock, supervised tasks, timeouts, backoff, rate limits."""
