"""How displays draw: libraries, fonts, style, and what is drawn on axes and grids of axes."""
