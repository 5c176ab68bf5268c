"""spanproof suite example: a suite to copy from, with an agent whose faults are known."""

from pathlib import Path

import click

from spanproof_evaluators.cli.output import tell


@click.command("example", short_help="Write a suite of 14 tasks and a scripted agent in three variants.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("example-suite"))
@click.option("--seed", type=int, default=0, show_default=True, help="Names, amounts, order and texts are drawn by it.")
def example(folder: Path, seed: int) -> None:
    """Write into FOLDER a small repository, a database, a suite over both, and an agent with its script.

    Its variants: good, overclaiming and tampering.

    Exit codes: 0 written, 2 the folder holds something else.
    """
    import shlex

    from spanproof_evaluators.harness.example import VARIANTS, write_example

    made = write_example(folder, seed)
    tell(f"wrote {made.suite}. Try it:")
    for variant in VARIANTS:
        words = ["spanproof", "suite", "run", str(made.suite), "--agent", made.agent(variant), "--variant", variant]
        tell(f"  {shlex.join([*words, '-n', '1', '--jobs', '2'])}")
