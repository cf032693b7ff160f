import pytest
from bench.kernels.aims import aims
from bench.kernels.records import Measure, Programs, Report, Sample, WholeExample, summarize


def _report(*samples: tuple[str, Measure, float, int], **rest: object) -> Report:
    return Report(
        {}, "forkserver", tuple(Sample(way, what, value, 0.0, many) for way, what, value, many in samples), **rest
    )


def _verdicts(report: Report) -> dict[str, str]:
    return {aim.what: aim.verdict for aim in aims(report)}


def test_nothing_measured_is_nothing_met() -> None:
    assert set(_verdicts(_report()).values()) == {"not measured"}


@pytest.mark.parametrize(
    ("samples", "what", "verdict"),
    [
        ([("forkserver+pool", "first", 15.0, 1)], "from the pool to the first reply", "met"),
        ([("forkserver+pool", "first", 15.1, 1)], "from the pool to the first reply", "NOT MET"),
        ([("bubblewrap", "first", 1.0, 1)], "start to the first reply", "not measured"),
        ([("forkserver", "first", 12.0, 1), ("plain-tcp", "first", 100.0, 1)], "start, of plain ipykernel's", "met"),
        (
            [("forkserver", "first", 13.0, 1), ("plain-tcp", "first", 100.0, 1)],
            "start, of plain ipykernel's",
            "NOT MET",
        ),
        ([("forkserver", "first", 13.0, 1)], "start, of plain ipykernel's", "not measured"),
        ([("forkserver", "rate", 39.0, 1), ("forkserver", "rate", 41.0, 4)], "kernels per second", "met"),
        ([("forkserver", "pss_kernel", 24.0, 4)], "PSS per idle kernel at 40 live", "not measured"),
        ([("forkserver", "pss_kernel", 26.0, 40)], "PSS per idle kernel at 40 live", "NOT MET"),
    ],
)
def test_what_is_met(samples: list[tuple[str, Measure, float, int]], what: str, verdict: str) -> None:
    assert _verdicts(_report(*samples))[what] == verdict


@pytest.mark.parametrize(("during", "verdict"), [(30.0, "met"), (36.5, "NOT MET"), (50.0, "NOT MET")])
def test_a_start_that_waits_for_a_stop_is_noticed(during: float, verdict: str) -> None:
    samples: list[tuple[str, Measure, float, int]] = [("forkserver", "first", 30.0, 1), ("forkserver", "stop", 20.0, 1)]
    report = _report(*samples, ("forkserver", "during_stop", during, 1))
    assert _verdicts(report)["a stop delays the next start"] == verdict


def test_the_example_itself_counts_more_than_what_is_reckoned_from_a_sample() -> None:
    what = "the TAT-QA example (1667 programs)"
    sample = Programs("forkserver", programs=100, seconds=2.0, raised=0, differing=())
    assert _verdicts(_report(programs=(sample,)))[what] == "met"
    slow, part = WholeExample(61.0, 1667, 0.0), WholeExample(5.0, 100, 0.0)
    for whole in (slow, part):
        assert _verdicts(_report(programs=(sample,), whole_example=whole))[what] == "NOT MET"


def test_a_summary_says_how_many_samples_were_taken_in_peace() -> None:
    loads = [0.0, 0.1, 0.5, 1.0, 2.0]
    summary = summarize(Sample("w", "first", value, load) for value, load in enumerate(loads, start=1))
    assert summary is not None
    assert (summary.median, summary.count, summary.quiet) == (3.0, 5, 2)
    assert 1.0 < summary.low < summary.median < summary.high < 5.0
