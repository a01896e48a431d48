"""Operator of kopf: greets every ConfigMap with the label ``greet=yes``, and says goodbye before it is deleted."""

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: object) -> None:
    """Retry soon: a test need not wait as long as a cluster that is overloaded."""
    settings.networking.error_backoffs = [0.1] * 20
    settings.watching.reconnect_backoff = 0.1
    settings.posting.enabled = False


@kopf.on.create("configmaps", labels={"greet": "yes"})
def greet(patch: kopf.Patch, **_: object) -> None:
    """Add the greeting."""
    patch.metadata.annotations["greeted"] = "yes"


@kopf.on.delete("configmaps", labels={"greet": "yes"})
def say_goodbye(name: str, logger: kopf.Logger, **_: object) -> None:
    """Kopf adds a finalizer because of this handler."""
    logger.info("goodbye, %s", name)
