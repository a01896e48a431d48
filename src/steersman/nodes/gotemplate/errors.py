"""What can be wrong with a template."""

from __future__ import annotations


class TemplateSyntaxError(ValueError):
    """The text is no template, or uses what is not known here; the message tells the line and why."""


class TemplateRenderError(ValueError):
    """The template does not go with the values it was given."""
