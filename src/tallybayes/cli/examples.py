"""Examples of each command, which its help ends with."""

from __future__ import annotations

__all__ = ["EXAMPLES"]

COMMANDS = {
    "doctor": """
tallybayes doctor sales.csv --target sold
tallybayes doctor warehouse.duckdb --table customers --target sold --json
""",
    "fit": """
tallybayes fit train.csv --target sold
tallybayes fit train.csv -t sold --column id=none -o sold.tally --report sold.html
tallybayes fit counts.csv -t survived --weight n --plain
tallybayes fit mails/ -o spam.tally
""",
    "count": """
tallybayes count monday.csv --target sold -o monday.tally
""",
    "predict": """
tallybayes predict sold.tally new.csv --proba --keep id -o predictions.csv
cat new.csv | tallybayes predict sold.tally -
""",
    "evaluate": """
tallybayes evaluate sold.tally test.csv --report test.html
""",
    "explain": """
tallybayes explain sold.tally new.csv --row 3
""",
    "update": """
tallybayes update sold.tally tuesday.csv
""",
    "forget": """
tallybayes forget sold.tally withdrawn.csv
""",
    "merge": """
tallybayes merge monday.tally tuesday.tally -o week.tally
""",
    "reweight": """
tallybayes reweight sold.tally train.csv
""",
    "show": """
tallybayes show sold.tally --tables
""",
    "sql": """
tallybayes sql sold.tally --table new --keep id --dialect postgres > score.sql
""",
    "report": """
tallybayes report sold.tally test.csv -o sold.html
""",
}

EXAMPLES = {name: f"Examples:{lines.rstrip()}" for name, lines in COMMANDS.items()}
"""Of each command, a line each below a heading."""
