"""The command line. Each command is imported when it is called."""

import errno
import gc
import sys

import click

from toolablate.cli.streams import take_any_text
from toolablate.traces.commands import LazyGroup

COMMANDS = {
    "run": "Run a plan; what the store already holds is not run again.",
    "status": "Say how far a store's trials are, and who runs them.",
    "compare": "Compare the conditions of a store, paired over questions.",
    "ladder": "Say what each factor of a ladder is worth, from no tools to real ones.",
    "agreement": "Say how far the scorers of a store agree, and how sure a judge is of its grades.",
    "replay": "Take up a trial at one of its events, with one thing changed.",
    "attribute": "Say why tools changed scores: by which mechanisms, trial by trial and in sum.",
    "explain": "Say on one page why a trial with tools went as it did.",
    "labels": "Say what people hold for the causes of failures, and how far they agree.",
    "view": "Show a store in a browser: scores, effects, questions, traces and why.",
    "report": "Write what a store holds and what it means into a file: HTML, Markdown or LaTeX.",
    "show": "List a store's trials, or show one trace.",
    "export": "Bring a store's trials to other tools: JSONL, Parquet, datasets, spans, Inspect.",
    "import": "Bring in what other harnesses measured: logs of Inspect and of lm-evaluation-harness.",
    "verify": "Check a store's digests, references and completeness.",
    "replies": "Say what replies of models are recorded, and check them.",
    "web": "Record pages and searches into an archive, and seal, check and extend it.",
    "exposure": "Measure how much of benchmarks' prompts models can go on with.",
    "planted": "Make the planted benchmark, and hold attributions against what was planted.",
    "power": "Say what effects a plan could show, before it is run.",
    "probe": "Ask the endpoints of a plan what they can do.",
    "doctor": "Say what works on this machine, and how to get the rest.",
}

# Nearly all that there is lives until the end: some 200,000 objects of libraries. To look through them for cycles as
# often as Python does by default took a fifth of a run's CPU, and freed next to nothing.
_COLLECTED_AFTER = (50_000, 20, 20)


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


ELSEWHERE = {
    "run": "toolablate.cli.running:run_command",
    "power": "toolablate.cli.running:power_command",
    "doctor": "toolablate.cli.running:doctor_command",
    "probe": "toolablate.cli.running:probe_command",
    "compare": "toolablate.cli.comparing:compare_command",
    "ladder": "toolablate.cli.comparing:ladder_command",
    "agreement": "toolablate.cli.comparing:agreement_command",
    "labels": "toolablate.cli.comparing:labels_command",
    "attribute": "toolablate.cli.attributing:attribute_command",
    "replay": "toolablate.cli.attributing:replay_command",
    "show": "toolablate.cli.showing:show_command",
    "explain": "toolablate.cli.showing:explain_command",
    "view": "toolablate.cli.showing:view_command",
    "report": "toolablate.cli.showing:report_command",
    "status": "toolablate.cli.files:status_command",
    "verify": "toolablate.cli.files:verify_command",
    "web": "toolablate.cli.files:web_group",
    "replies": "toolablate.cli.files:replies_group",
    "planted": "toolablate.cli.planted:planted_group",
    "export": "toolablate.formats.commands:export_group",
    "import": "toolablate.formats.commands:import_group",
}


class Commands(LazyGroup):
    """Ours, and those that benchmarks bring."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from toolablate.benchmarks import registry

        return [*super().list_commands(ctx), *(name for name in registry.commands() if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            return super().get_command(ctx, cmd_name)
        from toolablate.benchmarks import registry

        if cmd_name not in registry.commands():
            return None
        command: click.Command = registry.command(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from toolablate.benchmarks import registry

        super().format_commands(ctx, formatter)
        with formatter.section("Benchmarks"):
            formatter.write_dl([(name, told) for name, told in registry.commands().items() if name not in COMMANDS])


@click.group(
    cls=Commands,
    lazy=COMMANDS,
    package=__name__,
    elsewhere=ELSEWHERE,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="toolablate", message="toolablate %(version)s")
def group() -> None:
    """Run identical questions under scripted tool conditions, record everything, and compare in pairs."""


def main() -> None:
    """Runs the command line: a user's mistake is a sentence on stderr and exit code 2, never a traceback."""
    from toolablate.traces.errors import ToolablateError

    gc.set_threshold(*_COLLECTED_AFTER)
    take_any_text()
    try:
        group.main(standalone_mode=True)
    except ToolablateError as error:
        from toolablate.traces.plain import plain_text

        click.echo(f"toolablate: {plain_text(str(error))}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        click.echo(f"toolablate: there is no room to write to: {error.strerror}", err=True)
        click.echo("  It is where standard output goes, or the disk of a file that was being written", err=True)
        sys.exit(1)
