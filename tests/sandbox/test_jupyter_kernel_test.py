"""A suite that nobody here wrote, on a plain ipykernel and on every backend: the results must be the same."""

import os
import shutil
import tempfile
from pathlib import Path
from unittest import SkipTest, mock

import jupyter_kernel_test
import pytest

from toolablate.sandbox.kernelspecs import ISOLATING, install, name_of
from toolablate.sandbox.provisioning import ProvisioningError

pytestmark = pytest.mark.deep


class InOwnJupyter(jupyter_kernel_test.KernelTests):
    """With kernelspecs, history and connection files in a folder of its own."""

    __test__ = False
    backend = ""

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.mkdtemp(prefix="toolablate-test-")
        cls.addClassCleanup(shutil.rmtree, folder)
        names = ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
        cls.enterClassContext(mock.patch.dict(os.environ, {name: str(Path(folder) / name.lower()) for name in names}))
        if cls.backend:
            install(cls.backend, user=True)
        try:
            super().setUpClass()
        except ProvisioningError as unavailable:
            if unavailable.code in ("no_daemon", "no_image") and os.environ.get("TOOLABLATE_REQUIRE_DOCKER") != "1":
                raise SkipTest(str(unavailable)) from unavailable
            raise


class Expectations(InOwnJupyter):
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = [{"text": "zi", "matches": {"zip"}}]  # noqa: RUF012 - as the suite declares them
    complete_code_samples = ["1", "print('hello, world')", "def f(x):\n  return x*2\n\n\n"]  # noqa: RUF012
    incomplete_code_samples = ["print('''hello", "def f(x):\n  x*2"]  # noqa: RUF012
    invalid_code_samples = ["import = 7q"]  # noqa: RUF012
    code_page_something = "zip?"
    code_generate_error = "raise"
    code_execute_result = [  # noqa: RUF012
        {"code": "1+2+3", "result": "6"},
        {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"},
    ]
    code_display_data = [  # noqa: RUF012
        {"code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))", "mime": "text/html"},
        {"code": "from IPython.display import Math, display; display(Math('\\\\frac{1}{2}'))", "mime": "text/latex"},
    ]
    code_history_pattern = "1?2*"
    # Not "range": ipykernel numbers the running session 0 there and 1 elsewhere, and fails the suite's test of it.
    supported_history_operations = ("tail", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"


class TestPlainIpykernel(Expectations):
    __test__ = True
    kernel_name = "python3"


def _on(backend: str) -> type[Expectations]:
    attributes = {"__test__": True, "__module__": __name__, "backend": backend, "kernel_name": name_of(backend)}
    tests = type(f"Test{backend.title()}", (Expectations,), attributes)
    return pytest.mark.docker(tests) if backend == "docker" else tests


globals().update({f"Test{backend.title()}": _on(backend) for backend in ISOLATING})
