"""An operator as kopf's users write them: it answers every labelled ConfigMap with an annotation."""

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: object) -> None:
    settings.posting.enabled = False
    settings.scanning.disabled = True


@kopf.on.create("configmaps", labels={"kopf": "yes"})
@kopf.on.update("configmaps", labels={"kopf": "yes"}, field="data")
def answer(spec: kopf.Spec, body: kopf.Body, patch: kopf.Patch, **_: object) -> None:
    patch.metadata.annotations["seen"] = body["data"]["k"]


@kopf.on.delete("configmaps", labels={"kopf": "yes"})
def goodbye(name: str, **_: object) -> None:
    print(f"goodbye {name}", flush=True)
