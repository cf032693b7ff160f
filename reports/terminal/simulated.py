from rich.text import Text


def simulated_banner() -> Text:
    """What stands wherever figures or trials of a simulated model are shown together."""
    return Text.assemble(
        " ",
        (" SIMULATED ", "bold black on yellow"),
        " a stand-in that imitates a model; nothing here is a measurement",
    )
