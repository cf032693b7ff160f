from pathlib import Path

import click

from toolablate.traces import options


@click.command("contamination", epilog=options.example("toolablate contamination contamination.toml --questions 10"))
@click.argument("plan", type=options.FilePath())
@click.option(
    "--questions",
    type=click.IntRange(min=0),
    metavar="N",
    default=5,
    show_default=True,
    help="How many of the questions of which most came back to list.",
)
@options.as_json("all figures, those of each question among them,")
def command(plan: Path, questions: int, as_json: bool) -> None:
    """Contamination test: models continue the prompts of benchmarks, and the overlap with the rest is measured.

    PLAN is a TOML file of its own kind. Each model gets the first part of each prompt as plain text, without a chat
    template. ROUGE-L of its continuation against the rest of the prompt estimates how much of the benchmark it has
    seen, beside the overlap by chance. Prompts of fewer than 10 tokens are left out; missing continuations get no
    score.

    Continuations are kept in the plan's file and not requested again: Ctrl-C stops cleanly, and the same command
    resumes. Exits with 1 if continuations are missing, with 2 if nothing could be asked.

    \b
      share = 0.4                   # of a prompt's tokens (words, Han and kana
                                    # characters): what a model is given
      file = "runs/contamination.jsonl"  # the continuations
      limit = 500                   # the first questions of each benchmark
      seed = 0                      # of chance's pairs, and of the bootstrap
      perplexity = true             # also ask how likely the rests are (vLLM,
                                    # SGLang: echo with logprobs); default false
      [benchmarks]
      LPFQA = "lpfqa.jsonl"         # question files as plans have them
      MMLU = "mmlu.jsonl"
      [[models]]                    # as in plans; POST /completions is asked
      provider = "openai"
      name = "my-base-model"
      endpoint = "http://localhost:8000/v1"
    """
    from rich.console import Console

    from toolablate.experiments.contamination.continuing import ContaminationProgress, continue_prompts
    from toolablate.experiments.contamination.overlap import contamination_json, contamination_results
    from toolablate.experiments.contamination.perplexity import perplexity_result
    from toolablate.experiments.contamination.prompts import load_contamination_plan
    from toolablate.experiments.contamination.terminal_tables import contamination_view
    from toolablate.traces.commands import stopped_cleanly
    from toolablate.traces.terminal_text import plain_text

    loaded = load_contamination_plan(plan)
    console = Console(stderr=True)
    with stopped_cleanly(), ContaminationProgress(console) as progress:
        ran = continue_prompts(loaded, progress)
    for note in ran.notes:
        console.print(plain_text(note), style="yellow", markup=False)
    perplexities = [perplexity_result(part, seed=loaded.seed) for part in ran.scored]
    found = contamination_results(ran.parts, loaded.share, perplexities, seed=loaded.seed)
    click.echo(contamination_json(found)) if as_json else Console().print(
        contamination_view(found, questions=questions)
    )
    if ran.missing:
        missing = f"{ran.missing} {'is' if ran.missing == 1 else 'are'} missing; the same command asks again."
        console.print(missing, style="yellow")
    raise SystemExit(1 if ran.missing else 0)
