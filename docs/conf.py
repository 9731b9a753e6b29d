"""How the site is built: ``make docs``. Nothing is fetched from a network."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "extensions"))

from api_members import members_of  # noqa: E402

import pbgnet  # noqa: E402

project = "pbgnet"
author = "The pbgnet developers"
copyright = author
version = release = pbgnet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # in docs/extensions
    "backticks",
    "command_pages",
    "mathml",
    "repository_pages",
]
exclude_patterns = ["gallery/GALLERY_HEADER.rst", "**/README.rst"]
templates_path = ["templates"]
default_role = "name_or_code"
nitpicky = True
smartquotes = False  # "auto" in a docstring is code
suppress_warnings = ["config.cache"]  # of the function in autosummary_context
nitpick_ignore_regex = [
    # Libraries whose inventories would have to be fetched.
    (r"py:.*", r"(np|numpy|torch|sklearn|scipy|pandas|pd|typing|types|collections|pathlib|numbers)\b.*"),
    (r"py:.*", r"(ArrayLike|NDArray|Tensor|Generator|Path|Any|optional|array_like|Callable|Iterator).*"),
]

myst_enable_extensions = [
    "attrs_block",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
    "substitution",
]
myst_heading_anchors = 4
myst_dmath_double_inline = True

autosummary_generate = True
autosummary_context = {"members_of": members_of}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
python_maximum_signature_line_length = 80
toc_object_entries = False
viewcode_line_numbers = False

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "collapse_navigation": True,
    "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_title = "pbgnet"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_copy_source = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "within_subsection_order": "gallery_order.ListedOrder",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "backreferences_dir": "reference/api/generated/examples",
    "doc_module": ("pbgnet",),
    "inspect_global_variables": False,
    "capture_repr": ("_repr_html_", "__repr__"),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 5,
    "remove_config_comments": True,
}
