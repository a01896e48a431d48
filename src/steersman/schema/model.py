"""The type model lies in ``apimachinery.typemodel``."""

from steersman.apimachinery.typemodel import *  # noqa: F403
