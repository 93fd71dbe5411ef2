"""How Sphinx makes the site; scripts/make_site.py runs it."""

project = "prefpairs"
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = [".doctrees"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "prefpairs"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_copyright = False
html_show_sourcelink = False
html_use_index = False
smartquotes = False  # options begin with two hyphens
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
