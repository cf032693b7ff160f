"""The command line. Each command lives in a module of its own, imported when it is called."""

import importlib
import sys

import click

COMMANDS = {
    "run": "Run a plan; what the store already holds is not run again.",
    "compare": "Compare the conditions of a store, paired over questions.",
    "show": "List a store's trials, or show one trace.",
    "verify": "Check a store's digests, references and completeness.",
    "doctor": "Say what works on this machine, and how to get the rest.",
}


class _LazyGroup(click.Group):
    """Lists its commands without importing them, so that `--help` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"toolablate.experiments.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolablate", message="toolablate %(version)s")
def group() -> None:
    """Run identical questions under scripted tool conditions, record everything, and compare in pairs."""


def main() -> None:
    """Runs the command line: a user's mistake is a sentence on stderr and exit code 2, never a traceback."""
    from toolablate.traces.errors import ToolablateError

    try:
        group.main(standalone_mode=True)
    except ToolablateError as error:
        from toolablate.traces.terminal import plain_text

        click.echo(f"toolablate: {plain_text(str(error))}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
