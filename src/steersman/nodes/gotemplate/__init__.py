"""Go's ``text/template`` over decoded trees: ``parse`` returns a ``Template``, ``Template.render`` executes it."""

from steersman.nodes.gotemplate.errors import TemplateRenderError, TemplateSyntaxError
from steersman.nodes.gotemplate.parsing import parse
from steersman.nodes.gotemplate.running import Template

__all__ = ["Template", "TemplateRenderError", "TemplateSyntaxError", "parse"]
