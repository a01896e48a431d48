"""Random scenarios of CertificateSigningRequests: each is approved, signed and deleted by the rules."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.certificates import Certificates
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_certificates_scenario_converges(seed):
    await play(Certificates(), seed)
