"""Templates as Go's ``text/template`` reads them, over decoded trees: ``parse`` makes one, ``Template.render`` runs it."""

from steersman.nodes.gotemplate.errors import TemplateRenderError, TemplateSyntaxError
from steersman.nodes.gotemplate.parsing import parse
from steersman.nodes.gotemplate.running import Template

__all__ = ["Template", "TemplateRenderError", "TemplateSyntaxError", "parse"]
