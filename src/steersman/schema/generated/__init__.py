"""Written by `python -m codegen`; do not edit. Read by `steersman.schema.loader` and `.resources`."""
