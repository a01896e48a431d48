"""Stage files of ``kwok.x-k8s.io/v1alpha1``: what their selectors ask and what their templates make."""
