"""Errors of templates."""

from __future__ import annotations


class TemplateSyntaxError(ValueError):
    """Malformed or unsupported template; the message has line and reason."""


class TemplateRenderError(ValueError):
    """The template cannot be rendered with its data."""
