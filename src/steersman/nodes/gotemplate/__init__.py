"""Go's ``text/template`` over decoded trees: ``parse`` returns a ``Template``, ``Template.render`` executes it."""

from steersman.nodes.gotemplate.errors import TemplateRenderError, TemplateSyntaxError
from steersman.nodes.gotemplate.executor import Template
from steersman.nodes.gotemplate.parser import parse

__all__ = ["Template", "TemplateRenderError", "TemplateSyntaxError", "parse"]
