"""Builds extension modules on all cores; imported by the interpreter where this folder is on ``PYTHONPATH``.

mypyc generates one large extension of many C files, and a small one for each module. distutils can build extensions at
the same time, but compiles the files of one extension one after the other.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor


def compile_in_parallel(  # noqa: PLR0917 — parameters of distutils
    compiler, sources, output_dir=None, macros=None, include_dirs=None, debug=0, extra_preargs=None, extra_postargs=None,
    depends=None,
):  # fmt: skip
    """Do what ``CCompiler.compile`` does, on all cores."""
    macros, objects, extra_postargs, flags, build = compiler._setup_compile(
        output_dir, macros, include_dirs, sources, depends, extra_postargs
    )
    arguments = compiler._get_cc_args(flags, debug, extra_preargs)

    def compile_one(name):
        source, extension = build[name]
        compiler._compile(name, source, extension, arguments, extra_postargs, flags)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, [name for name in objects if name in build]))
    return objects


def initialize_options(command):
    """Make ``build_ext`` build extensions at the same time, as ``--parallel`` does."""
    initialize_sequential(command)
    command.parallel = os.cpu_count()


if "build_ext" in sys.orig_argv:
    from distutils.ccompiler import CCompiler
    from distutils.command.build_ext import build_ext

    initialize_sequential = build_ext.initialize_options
    build_ext.initialize_options = initialize_options
    CCompiler.compile = compile_in_parallel
