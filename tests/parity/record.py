"""Write down how far a tool was from us, for the table in docs/parity.md."""

import json
import os
from pathlib import Path


def record(
    tool: str, measure: str, difference: float, cases: int, note: str = ""
) -> None:
    """Add a line to the folder that the environment variable PARITY_RECORDS names."""
    folder = os.environ.get("PARITY_RECORDS")
    if folder:
        with (Path(folder) / f"{tool}.jsonl").open("a") as file:
            line = dict(tool=tool, measure=measure, difference=difference)
            print(json.dumps(line | dict(cases=cases, note=note)), file=file)
