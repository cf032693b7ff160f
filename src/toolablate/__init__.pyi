from toolablate.api.asking import attribute as attribute
from toolablate.api.asking import attribute_async as attribute_async
from toolablate.api.asking import replay as replay
from toolablate.api.asking import report as report
from toolablate.api.looking import doctor as doctor
from toolablate.api.looking import doctor_async as doctor_async
from toolablate.api.looking import power as power
from toolablate.api.plans import Plan as Plan
from toolablate.api.running import run as run
from toolablate.api.running import run_async as run_async
from toolablate.api.stores import Store as Store
from toolablate.api.stores import open as open
from toolablate.experiments.plans.conditions import condition as condition
from toolablate.traces.errors import ToolablateError as ToolablateError

__version__: str
__all__: list[str]
