"""The function libraries that Kubernetes 1.36 gives to expressions: cel-go's extensions, and its own."""
