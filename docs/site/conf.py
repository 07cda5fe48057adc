# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sphinx's configuration of the site, which scripts/docs builds.

The site is the checkout's own Markdown, as it lies there: a link that works in the checkout works on
the site. Only the API pages beside this file are for the site alone.
"""

import pathlib
import re
import sys
import textwrap

from docutils import nodes
from sphinx.domains.cpp import CPPDomain

checkout = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(checkout / "python/src"))

project = "kokkos-scan"
version_line = (checkout / "include/KokkosScan/version.hpp").read_text(encoding="utf-8")
release = version = re.search(r'KOKKOSSCAN_VERSION "([\d.]+)"', version_line)[1]
copyright = "kokkos-scan contributors"

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "perf_tests/**.md"]
exclude_patterns = [".cache", "build*"]

html_theme = "furo"
html_title = f"{project} {release}"
html_extra_path = ["index.html"]  # relative to this file
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False

myst_heading_anchors = 3

breathe_projects = {project: str(checkout / ".cache/doxygen/xml")}
breathe_default_project = project
cpp_maximum_signature_line_length = 80

# The package's docstrings are read without what it is built of.
autodoc_mock_imports = ["numpy", "torch", "kokkos_scan._arrays", "kokkos_scan._core", "kokkos_scan._torch"]
autodoc_member_order = "bysource"

# What stands beside each page, in its order.
pages = {
    "Use it": [
        "Start <self>",
        "docs/install",
        "docs/call",
        "docs/in-order",
        "docs/select",
        "docs/inputs",
        "docs/recurrences",
        "docs/team",
        "docs/mpi",
        "docs/accuracy",
        "docs/speed",
        "docs/compile-time",
        "docs/python",
        "docs/sequence-models",
        "docs/command-line",
        "docs/tools",
        "docs/faq",
        "docs/comparison",
    ],
    "API": ["docs/site/api", "docs/site/api-python"],
    "How it works": ["docs/design", "docs/host-backend", "docs/cuda-backend", "docs/limits"],
    "Project": ["CONTRIBUTING", "perf_tests/README", "CHANGELOG", "docs/releasing", "SECURITY", "CODE_OF_CONDUCT"],
}
# What only the page before the slash lists.
below = {
    "perf_tests/README": "perf_tests/results/*",
}


def toctree(caption, entries, *options):
    lines = ["", "```{toctree}", *options, ":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join([*lines, *entries, "```", ""])


def add_toctrees(app, name, source):
    if name == root_doc:
        source[0] += "".join(toctree(caption, [e if "<" in e else "/" + e for e in entries])
                             for caption, entries in pages.items())
    elif name in below:
        source[0] += toctree(None, ["/" + below[name]], ":glob:")


def clean_code(app, doctree):
    """Code as one would type it: not indented, and on the API page without what examples print."""
    for block in doctree.findall(nodes.literal_block):
        lines = block.astext().split("\n")
        if app.env.current_document.docname == "docs/site/api":
            lines = [line for line in lines if not line.lstrip().startswith("print(")]
        block.rawsource = textwrap.dedent("\n".join(lines))
        block.children = [nodes.Text(block.rawsource)]


# Search finds functions and classes by their names, not each of their parameters. Breathe leaves the namespace of
# functions away.
every_object = CPPDomain.get_objects


def get_objects(domain):
    for name, shown, kind, page, anchor, priority in every_object(domain):
        if kind not in ("functionParam", "templateParam"):
            signs = {"MPI_Comm": "mpi::", "ncclComm_t": "nccl::", "5Range": "team::"}
            space = "KokkosScan::" + next((inner for sign, inner in signs.items() if sign in anchor), "")
            full = shown if shown.startswith("KokkosScan::") else space + shown
            yield name, full, kind, page, anchor, priority


CPPDomain.get_objects = get_objects


def setup(app):
    app.connect("source-read", add_toctrees)
    app.connect("doctree-read", clean_code)
