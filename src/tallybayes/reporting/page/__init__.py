"""The template, the styles and the scripts of the page."""
