"""What all tests share: hypothesis measures no time here, since a busy machine is no failure."""

from hypothesis import HealthCheck, settings

settings.register_profile("steersman", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steersman")
