"""Function libraries of Kubernetes 1.36: cel-go's extensions and Kubernetes' own."""
