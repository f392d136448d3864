"""Options that several commands share; those of own files are in ``file_options.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Dataset = Annotated[
    str | None, typer.Argument(help="Data set to train on (see: gdamn data list), or a file with your own graph.")
]
Method = Annotated[
    str | None, typer.Option(help="Method to train; see: gdamn methods. Own files: also auto. Default: gdamn.")
]
Reference = Annotated[
    bool,
    typer.Option("--reference/--no-reference", help="Own files: set simple methods beside it, on the same labels."),
]
Graph = Annotated[str, typer.Argument(help="Data set (see: gdamn data list), or a file with your own graph.")]
Metric = Annotated[str, typer.Option(help="Validation score to maximise: accuracy, balanced_accuracy or macro_f1.")]
Space = Annotated[Path | None, typer.Option(help="TOML file with a list of values or a range per setting.")]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="KEY=LOW:HIGH[:log]",
        help="Search a setting between two numbers; may be repeated. Without --space nothing else is searched.",
    ),
]
Seeds = Annotated[int | None, typer.Option(min=1, help="Number of seeds, one model each. Default: 1.")]
FirstSeed = Annotated[int | None, typer.Option(help="The first seed; the others follow. Default: 0.")]
Workers = Annotated[
    int, typer.Option(min=1, help="Processes that train one model together; torchrun does it over machines.")
]
Timeout = Annotated[float, typer.Option(help="Seconds that such a process waits for another one.")]
CheckpointEvery = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Seconds between two checkpoints of a fit. Default: 60.", min=0)
]
Noise = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|KIND:RATE",
        help="Plant this many false edges per true edge; or another kind of noise, such as remove:0.2 (docs/noise.md).",
    ),
]
Split = Annotated[int | None, typer.Option(min=0, help="Split for all seeds, where there are several.")]
DataOptions = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the data set; may be repeated.")
]
Decisions = Annotated[
    Path | None, typer.Option(metavar="FILE", help="What a person decided: the decisions.csv of gdamn review.")
]
Device = Annotated[str | None, typer.Option(help="Device to train on, such as cpu or cuda.")]
Budget = Annotated[
    float | None,
    typer.Option(min=0, help="Seconds that the fit of a model may take; the rest is left out (gdamn, gdamn-plus)."),
]
DataRoot = Annotated[
    Path | None,
    typer.Option(help="Folder of the data files; without it the environment variable GDAMN_DATA, then a cache."),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that gdamn train wrote.", show_default=False)]
Seed = Annotated[int | None, typer.Option(help="Which of the run's models. Default: the first.")]
TableOut = Annotated[Path | None, typer.Option("--out", "-o", help="Write them, too: .csv or .parquet.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
TrainJobs = Annotated[
    int, typer.Option(min=1, help="Processes that train seeds side by side; the results stay the same.")
]
TuneJobs = Annotated[
    int, typer.Option(min=1, help="Processes that fit the seeds of a trial side by side; the trials stay the same.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes that fit side by side; the results stay the same.")]
TimeBudget = Annotated[
    float | None,
    typer.Option(min=0, help="Seconds after which no further fit begins; what is finished counts. Default: no limit."),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads per process. Default: the cores over the jobs.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting of every method that has it, or METHOD.KEY=VALUE of one; may be repeated.",
    ),
]
RunOut = Annotated[Path | None, typer.Option(help="Folder of the results. Default: runs/DATASET-METHOD.")]
Config = Annotated[
    Path | None, typer.Option(help="Repeat the run of this config.toml; options given here count before it.")
]
SummaryAsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")]
ReplaceRun = Annotated[bool, typer.Option("--force", help="Replace a finished run of another configuration in --out.")]
Refit = Annotated[bool, typer.Option("--force", help="Do again what --out holds with other settings.")]
