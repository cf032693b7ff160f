"""The part of a plan that says where the results come from that a placebo shows."""

from pydantic import Field

from toolablate.experiments.plans.web import Section


class DonorsSection(Section):
    """`store` names a store of an earlier run, whose results of the same tools under other questions are shown; ""
    stands for what can be had without one."""

    store: str = Field(default="", pattern=r"^[^\x00]*$")
