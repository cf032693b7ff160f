"""What pyproject.toml cannot say: on a package index, the README's links and pictures lead to the repository."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent


def for_an_index(readme: str, repository: str) -> str:
    """The README with absolute links."""

    def absolute(link: re.Match[str]) -> str:
        page = "raw" if link[1] else "blob"
        return f"{link[1]}[{link[2]}]({repository}/{page}/main/{link[3]})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)]+)\)", absolute, readme)


if __name__ == "__main__":
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    setup(
        long_description=for_an_index((HERE / "README.md").read_text("utf-8"), project["urls"]["Repository"]),
        long_description_content_type="text/markdown",
    )
