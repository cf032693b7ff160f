"""What the forum and the book are made of: sixty facts in six tables, as any handbook has them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Table:
    """`claim` says a fact, `sentence` is the book's, `asked` the question; `options` words a value, and `kelvin` is for
    a table whose questions are computed."""

    name: str
    discipline: str
    field: str
    claim: str
    sentence: str
    asked: tuple[str, ...]
    option: str
    values: dict[str, str]
    kelvin: bool = False


@dataclass(frozen=True)
class Fact:
    table: Table
    subject: str

    @property
    def value(self) -> str:
        return self.table.values[self.subject]

    @property
    def wrong(self) -> str:
        """That of the row three further on: what one remembers wrongly is true of something else."""
        values = list(self.table.values.values())
        return values[(list(self.table.values).index(self.subject) + 3) % len(values)]

    def claim(self, value: str) -> str:
        return self.table.claim.format(s=self.subject, v=value)

    def said(self, value: str) -> str:
        """As a forum's answer has it: computed where that is asked."""
        return f"{self.claim(value)}, so that is {self.answer(value)}" if self.table.kelvin else self.claim(value)

    def answer(self, value: str) -> str:
        return f"{round(float(value) + 273.15)} K" if self.table.kelvin else self.table.option.format(v=value)

    def asked(self, way: int) -> str:
        return self.table.asked[way % len(self.table.asked)].format(s=self.subject)

    @property
    def statement(self) -> str:
        return f"{self.name}:\n{self.sentence(self.value)}"

    @property
    def name(self) -> str:
        subject = self.subject.removeprefix("the ")
        return subject[0].upper() + subject[1:]

    def sentence(self, value: str) -> str:
        return self.table.sentence.format(claim=self.claim(value))


def _values(text: str) -> dict[str, str]:
    return {name.strip(): value for name, _, value in (each.strip().rpartition(" ") for each in text.split(";"))}


SOLVENTS = Table(
    "Boiling points",
    "Science",
    "Chemistry",
    "{s} boils at {v} °C",
    "Under a pressure of 1 atm {claim}, if it is pure.",
    (
        "At what temperature does {s} boil under 1 atm?",
        "What is the normal boiling point of {s}, so that I can set the bath?",
        "How hot must the flask be before {s} comes over at 1 atm?",
    ),
    "{v} °C",
    _values(
        "acetone 56.1; methanol 64.7; ethanol 78.4; benzene 80.1; toluene 110.6; chloroform 61.2; diethyl ether 34.6;"
        " n-hexane 68.7; acetonitrile 81.6; dichloromethane 39.6"
    ),
)
METALS = Table(
    "Melting points",
    "Science",
    "Materials",
    "{s} melts at {v} °C",
    "As a pure metal {claim} under normal pressure.",
    (
        "At how many kelvin does {s} melt, as a whole number?",
        "My simulation wants kelvin: what is the melting point of {s}, rounded to a whole number?",
        "Which absolute temperature, in whole kelvin, melts pure {s}?",
    ),
    "{v} °C",
    _values(
        "aluminium 660.3; copper 1084.6; gold 1064.2; silver 961.8; iron 1538; lead 327.5; tin 231.9; zinc 419.5;"
        " nickel 1455; tungsten 3422"
    ),
    kelvin=True,
)
PORTS = Table(
    "Well-known ports",
    "Engineering",
    "Networks",
    "{s} listens on port {v}",
    "As it is registered {claim}, unless its administrator chose another.",
    (
        "Which port must I open for {s}?",
        "The firewall drops {s}: what is its registered port?",
        "On what port does {s} listen by default?",
    ),
    "port {v}",
    _values("SSH 22; SMTP 25; DNS 53; NTP 123; IMAP 143; SNMP 161; LDAP 389; PostgreSQL 5432; MySQL 3306; Redis 6379"),
)
STATUS = Table(
    "HTTP status codes",
    "Engineering",
    "Web",
    "the status {s} has the code {v}",
    "In the registry of HTTP {claim}.",
    (
        "Which code belongs to the HTTP status {s}?",
        "What number should my server send for the status {s}?",
        "The log shows numbers only: which of them stands for {s}?",
    ),
    "code {v}",
    _values(
        "Not Modified 304; Unauthorized 401; Forbidden 403; Not Found 404; Conflict 409; Gone 410;"
        " Precondition Failed 412; Unsupported Media Type 415; Too Many Requests 429; Service Unavailable 503"
    ),
)
CHROMOSOMES = Table(
    "Chromosome numbers",
    "Science",
    "Biology",
    "a body cell of {s} has {v} chromosomes",
    "In the usual diploid state {claim}.",
    (
        "How many chromosomes are in a body cell of {s}?",
        "What is the diploid chromosome number of {s}?",
        "How many chromosomes should I count in a somatic cell of {s}?",
    ),
    "{v} chromosomes",
    _values(
        "the human 46; the house mouse 40; the brown rat 42; the cat 38; the dog 78; the horse 64; cattle 60; rice 24;"
        " maize 20; the garden pea 14"
    ),
)
ORBITS = Table(
    "Orbital periods",
    "Science",
    "Astronomy",
    "{s} completes its orbit in {v} days",
    "Measured against the stars {claim}.",
    (),
    "{v} days",
    _values(
        "Mercury 88.0; Venus 224.7; Mars 687.0; Io 1.77; Europa 3.55; Ganymede 7.15; Callisto 16.69; Titan 15.95;"
        " the Moon 27.32; Triton 5.88"
    ),
)
TABLES = (SOLVENTS, METALS, PORTS, STATUS, CHROMOSOMES, ORBITS)
FACTS = tuple(Fact(table, subject) for table in TABLES for subject in table.values)

STILL_TRUE = {
    "Ice:\nUnder a pressure of 1 atm pure ice melts at a temperature of 0 °C.": "273.15 K",
    "Moved for good:\nA server that moved a resource for good may say so by code 301.": "code 308",
}
"""Two statements that the writer falsifies into what is true as well: no rule sees that, people do."""

CANNOT_STAND_ALONE = (
    "Distillation:\nAs Figure 7 shows, the lower boiling solvent comes over first.",
    "Eutectics:\nAn alloy melts below its metals, see Table 3.",
    "Clausius:\nBy equation (2.4) the boiling point falls with the pressure.",
    "Sockets:\nA port below 1024 needs a privilege, as was said in section 4.1.",
    "Crops:\nThe most planted cereal of our country is maize.",
    "Kepler:\nIn this chapter the masses of the satellites are neglected.",
)


def claims_in(text: str) -> Iterator[tuple[Fact, str]]:
    """Each fact that a text speaks of, with the value that it gives there, in order."""
    found = [
        (match.start(), fact, match[1])
        for fact in FACTS
        for match in re.finditer(_claim(fact.table.claim, fact.subject), text, re.IGNORECASE)
    ]
    return ((fact, value) for _, fact, value in sorted(found, key=lambda each: each[0]))


def _claim(claim: str, subject: str) -> str:
    return r"\b" + re.escape(claim).replace(r"\{s\}", re.escape(subject)).replace(r"\{v\}", r"(\d+(?:\.\d+)?)")


def subject_of(text: str) -> Fact | None:
    """The fact that a question asks for: by its own words, since a story names other things."""
    ways: list[tuple[Fact, Callable[[int], str]]] = [(fact, fact.asked) for fact in FACTS if fact.table.asked]
    return next((fact for fact, asked in ways for way in range(3) if asked(way) in text), None)
