from rich.console import Group, RenderableType

from toolablate.benchmarks.lpfqa.boards.ablation import ablation_part
from toolablate.benchmarks.lpfqa.boards.beside import beside_part
from toolablate.benchmarks.lpfqa.boards.domains import domains_part, standings_part
from toolablate.benchmarks.lpfqa.boards.sets import filtered_part, tiers_part
from toolablate.benchmarks.lpfqa.scoreboard import Scoreboard
from toolablate.reports.tables import simulated_banner


def scoreboard_view(found: Scoreboard) -> RenderableType:
    """Scores and domains under the baseline, sets of questions, difficulty, tools, and ranks elsewhere."""
    return Group(
        *([simulated_banner()] if all(row.simulated for row in found.standings) else []),
        *standings_part(found),
        *domains_part(found),
        *filtered_part(found),
        *tiers_part(found),
        *ablation_part(found),
        *beside_part(found),
    )
