"""The command line. Each command is imported when it is called."""

import errno
import gc
import sys

import click

from toolablate.cli.streams import take_any_text
from toolablate.traces.commands import LazyGroup

SECTIONS = {
    "Plan and run": {
        "run": ("toolablate.cli.running:run_command", "Run a plan; completed trials are skipped."),
        "power": ("toolablate.cli.running:power_command", "Show which effects a plan can detect, before it is run."),
        "doctor": ("toolablate.cli.running:doctor_command", "Check this machine and the endpoints of a plan."),
        "status": ("toolablate.cli.files:status_command", "Show the progress of a run, or what a recording holds."),
        "verify": ("toolablate.cli.files:verify_command", "Check a store, an archive or recorded replies for damage."),
    },
    "Results": {
        "compare": ("toolablate.cli.comparing:compare_command", "Compare conditions, paired over questions."),
        "attribute": ("toolablate.cli.attributing:attribute_command", "Attribute effects of tools to mechanisms."),
        "replay": ("toolablate.cli.attributing:replay_command", "Replay a trial from one event, with one change."),
        "agreement": ("toolablate.cli.comparing:agreement_command", "Measure agreement of scorers, judges and people."),
        "prefer": ("toolablate.cli.preferring:prefer_command", "Ask judges which of two answers is better, blind."),
        "failures": ("toolablate.cli.failures:failures_command", "Group wrong answers by what they have in common."),
        "labels": ("toolablate.cli.labels:labels_group", "Draw failures for people to label; print codebooks."),
        "find": ("toolablate.cli.finding:find_command", "Find trials by words in code, outputs, pages and replies."),
        "show": ("toolablate.cli.showing:show_command", "List trials, show one trace, or explain it."),
        "view": ("toolablate.cli.showing:view_command", "Browse a store: scores, effects, traces, causes."),
        "report": ("toolablate.cli.showing:report_command", "Write a report: HTML, Markdown or LaTeX."),
    },
    "Exchange": {
        "merge": ("toolablate.cli.files:merge_command", "Join stores of one plan that ran at several sites."),
        "export": (
            "toolablate.formats.commands:export_group",
            "Export trials as JSONL, Parquet, a dataset, spans or logs.",
        ),
        "import": ("toolablate.formats.commands:import_group", "Import logs of Inspect and of lm-evaluation-harness."),
    },
    "Questions": {
        "build": ("toolablate.cli.building:build_group", "Make a benchmark of questions with answers."),
        "annotate": (
            "toolablate.cli.annotating:command",
            "Write into questions whether answers can be found and computed.",
        ),
    },
    "Recorded web": {
        "web": ("toolablate.cli.files:web_group", "Record pages and searches into an archive, and seal it."),
    },
    "Checks": {
        "contamination": (
            "toolablate.cli.contamination:command",
            "Test whether models have seen a benchmark.",
        ),
        "planted": ("toolablate.cli.planted:planted_group", "Validate attribution on synthetic failures."),
    },
}

# Nearly all that there is lives until the end: some 200,000 objects of libraries. To look through them for cycles as
# often as Python does by default took a fifth of a run's CPU, and freed next to nothing.
_COLLECTED_AFTER = (50_000, 20, 20)


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Commands(LazyGroup):
    """Ours, and those that benchmarks bring."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from toolablate.benchmarks import registry

        ours = super().list_commands(ctx)
        return [*ours, *(name for name in registry.commands() if name not in ours)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.lazy:
            return super().get_command(ctx, cmd_name)
        from toolablate.benchmarks import registry

        if cmd_name not in registry.commands():
            return None
        command: click.Command = registry.command(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from toolablate.benchmarks import registry

        super().format_commands(ctx, formatter)
        # Without benchmarks that bring commands there is nothing to list, and click cannot write an empty list.
        if brought := [(name, told) for name, told in registry.commands().items() if name not in self.lazy]:
            with formatter.section("Benchmarks"):
                formatter.write_dl(brought)


@click.group(cls=Commands, sections=SECTIONS, context_settings={"help_option_names": ["-h", "--help"]})
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
        from toolablate.traces.terminal_text import plain_text

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
