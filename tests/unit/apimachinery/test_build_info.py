"""The build, as clients see it."""

from steersman.apimachinery.build_info import version_document
from steersman.version import KUBERNETES_VERSION


def test_version_has_the_fields_of_upstream():
    document = version_document()
    assert document["gitVersion"].startswith(f"{KUBERNETES_VERSION}+steersman-")
    assert f"v{document['major']}.{document['minor']}." in KUBERNETES_VERSION
    assert int(document["minCompatibilityMinor"]) == int(document["minor"]) - 1
