"""The files that start a cluster: what they say to whom, with stand-ins for machines and Ray."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).parents[3] / "examples/cluster"

# What is asked of each machine, with the mode and token that it has; the token itself must be in no argument.
STAND_IN = """#!/usr/bin/env bash
echo "${MACHINE:-head}: $(basename "$0") $*; $RAY_AUTH_MODE $(cat "$RAY_AUTH_TOKEN_PATH")" >>"$SAID"
[ "$1" != start ] || [ "${MACHINE:-head}" != "${TAKEN:-}" ] || exit 1
[ "$(basename "$0")" != toolablate ] || [ "$1" != run ] || exit 3
"""
SSH = """#!/usr/bin/env bash
export MACHINE=$1 HOME="$HOMES/$1"
shift
unset RAY_AUTH_MODE RAY_AUTH_TOKEN_PATH
exec bash -c "$*"
"""


def test_machines_that_ssh_reaches_are_started_with_one_token_and_stopped(tmp_path: Path) -> None:
    project, bin_folder, said = tmp_path / "a plan", tmp_path / "a plan/.venv/bin", tmp_path / "said.txt"
    bin_folder.mkdir(parents=True)
    for name, text in {"ray": STAND_IN, "toolablate": STAND_IN, "ssh": SSH, "activate": ""}.items():
        (bin_folder / name).write_text(text, encoding="utf-8")
        (bin_folder / name).chmod(0o755)
    for machine in ("head", "node1", "node2"):
        (tmp_path / machine).mkdir()
    paths = {"HOME": tmp_path / "head", "HOMES": tmp_path, "SAID": said, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    env = {name: str(path) for name, path in paths.items()} | {"HEAD_ADDRESS": "10.0.0.1"}
    command = [str(EXAMPLES / "machines.sh"), "plan.toml", "node1", "node2"]
    ran = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 3, "as of the run, " + ran.stdout + ran.stderr
    lines = [line.rpartition("; ") for line in said.read_text(encoding="utf-8").splitlines()]
    join = "ray start --address 10.0.0.1:6379 --disable-usage-stats"
    assert [asked for asked, _, _ in lines] == [
        "head: ray start --head --node-ip-address 10.0.0.1 --port 6379 --include-dashboard=false --disable-usage-stats",
        f"node1: {join}",
        f"node2: {join}",
        "head: toolablate doctor plan.toml --cluster 10.0.0.1:6379",
        "head: toolablate run plan.toml --cluster 10.0.0.1:6379",
        "node1: ray stop",
        "node2: ray stop",
        "head: ray stop",
    ]
    # Where a node's Ray cannot be started, as where there is another, it is not stopped.
    said.unlink()
    taken = subprocess.run(command, cwd=project, env=env | {"TAKEN": "node1"}, capture_output=True, check=False)
    assert taken.returncode == 1
    assert "stop" not in said.read_text(encoding="utf-8").replace("head: ray stop", "")
    (had,) = {had for _, _, had in lines}
    mode, token = had.split()
    assert (mode, len(token)) == ("token", 64)
    assert token not in "".join(asked for asked, _, _ in lines)
    assert [list((tmp_path / machine).iterdir()) for machine in ("head", "node1", "node2")] == [[], [], []]


@pytest.mark.parametrize("script", ["machines.sh", "slurm.sh"])
def test_scripts_are_such(script: str) -> None:
    subprocess.run(["bash", "-n", EXAMPLES / script], check=True)
    assert os.access(EXAMPLES / "machines.sh", os.X_OK)


def test_a_job_of_kubernetes_demands_a_token_of_all_its_pods() -> None:
    job = yaml.safe_load((EXAMPLES / "rayjob.yaml").read_text(encoding="utf-8"))
    assert job["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token"}


# What container runtimes leave a root of a pod, and what they hide of /proc.
CAPABILITIES = [
    "chown",
    "dac_override",
    "fsetid",
    "fowner",
    "mknod",
    "net_raw",
    "setgid",
    "setuid",
    "setfcap",
    "setpcap",
    "net_bind_service",
    "sys_chroot",
    "kill",
    "audit_write",
]
MASKED = "mount --bind /dev/null /proc/keys && mount --bind /proc/sys /proc/sys && mount -o bind,remount,ro /proc/sys"
STARTS = """
import asyncio
from toolablate.sandbox import open_sandbox

async def main():
    sandbox = open_sandbox("bubblewrap")
    print((await sandbox.check()).detail)
    await sandbox.close()

asyncio.run(main())
"""


def test_bubblewrap_works_with_what_a_job_of_kubernetes_gives_its_pods() -> None:
    within = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{MASKED} && exec "$@"', "sh"]
    if not shutil.which("setpriv") or subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no pod can be made out of this machine: that needs root, setpriv and unshare")
    job = yaml.safe_load((EXAMPLES / "rayjob.yaml").read_text(encoding="utf-8"))
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    given = head["containers"][0]["securityContext"]
    # Kubernetes takes an unmasked /proc from 1.30 on only where a pod has users of its own.
    assert "procMount" not in given
    left = ",".join(["-all", *(f"+{name.lower()}" for name in [*CAPABILITIES, *given["capabilities"]["add"]])])
    pod = [*within, "setpriv", "--inh-caps=-all", f"--bounding-set={left}", sys.executable, "-c", STARTS]
    started = subprocess.run(pod, capture_output=True, text=True, check=True)
    assert "one bubblewrap per kernel" in started.stdout


def test_a_job_of_kubernetes_names_the_volume_and_image_that_files_beside_it_make() -> None:
    job, volume = (yaml.safe_load((EXAMPLES / name).read_text("utf-8")) for name in ("rayjob.yaml", "volume.yaml"))
    cluster = job["spec"]["rayClusterSpec"]
    head = cluster["headGroupSpec"]["template"]["spec"]
    (mounted,) = head["volumes"]
    assert (volume["kind"], volume["metadata"]["name"]) == (
        "PersistentVolumeClaim",
        mounted["persistentVolumeClaim"]["claimName"],
    )
    dockerfile = (EXAMPLES / "Dockerfile").read_text("utf-8")
    assert f"-t {head['containers'][0]['image']} " in dockerfile
    assert f'"ray[default]=={cluster["rayVersion"]}"' in dockerfile


def test_the_image_has_the_wheel_and_the_plan_of_now(tmp_path: Path) -> None:
    (written,) = re.findall(r"^#   (.*cp -r plan .*)$", (EXAMPLES / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    (documented,) = re.findall(
        r"^\$ (.*cp -r plan \S+)", (EXAMPLES.parents[1] / "docs/cluster.md").read_text("utf-8"), re.MULTILINE
    )
    assert written == documented
    pip = tmp_path / "bin/pip"
    pip.parent.mkdir()
    pip.write_text('#!/bin/sh\nmkdir -p image && touch "image/toolablate-$VERSION.whl"\n', encoding="utf-8")
    pip.chmod(0o755)
    (tmp_path / "plan").mkdir()
    for version in ("1", "2"):
        (tmp_path / "plan/plan.toml").write_text(version, encoding="utf-8")
        env = {"PATH": f"{pip.parent}:{os.environ['PATH']}", "VERSION": version}
        subprocess.run(["bash", "-euc", written], cwd=tmp_path, env=env, check=True)
    image = tmp_path / "image"
    assert sorted(str(file.relative_to(image)) for file in image.rglob("*")) == [
        "plan",
        "plan/plan.toml",
        "toolablate-2.whl",
    ]
    assert (image / "plan/plan.toml").read_text("utf-8") == "2"


def test_a_job_of_slurm_has_lines_for_partition_and_keys() -> None:
    text = (EXAMPLES / "slurm.sh").read_text(encoding="utf-8")
    assert "\n##SBATCH --partition=NAME\n" in text
    assert "\n# export OPENAI_API_KEY=...\n" in text


def test_a_job_of_slurm_gives_each_node_its_processors_and_time_to_join(tmp_path: Path) -> None:
    """With stand-ins for SLURM and Ray."""
    (tmp_path / ".venv/bin").mkdir(parents=True)
    told = 'echo "$(basename "$0") $*; waits ${RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT:-}" >>"$SAID"'
    for name, text in {
        "activate": "",
        "scontrol": "#!/bin/sh\nseq -f node-%g 1 100000\n",
        "srun": '#!/bin/bash\nwhile [[ $1 == --* ]]; do echo "srun $1" >>"$SAID"; shift; done\nexec "$@"\n',
        "ray": f'#!/bin/bash\n{told}\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n',
        "toolablate": f"#!/bin/bash\n{told}\n",
    }.items():
        (tmp_path / ".venv/bin" / name).write_text(text, encoding="utf-8")
        (tmp_path / ".venv/bin" / name).chmod(0o755)
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "node-[1-100000]", "SLURM_JOB_NUM_NODES": "2"}
    env = {"PATH": f"{tmp_path}/.venv/bin:{os.environ['PATH']}", "HOME": str(tmp_path), "SAID": str(tmp_path / "said")}
    (tmp_path / "python").symlink_to(sys.executable)
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    command = [EXAMPLES / "slurm.sh", "a plan.toml"]
    subprocess.run(["bash", *command], cwd=tmp_path, env={**env, **slurm, "SLURM_CPUS_PER_TASK": "16"}, check=True)
    said = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    assert said[:3] == ["srun --nodes=2", "srun --ntasks=2", "srun --cpus-per-task=16"]
    assert said[3].startswith("ray symmetric-run --address node-1:6379 --min-nodes 2 --num-cpus 16 -- bash -euc ")
    run = f"toolablate run a plan.toml --store /tmp/toolablate-7.sqlite --set cluster.backup={tmp_path}/a plan.sqlite"
    assert said[-1] == f"{run} --cluster auto; waits 300"
    assert not list(tmp_path.glob(".toolablate-ray-*"))
    # A job that SLURM starts again here has its store, and perhaps its WAL, still.
    job = f"test-{os.getpid()}"
    store = Path(f"/tmp/toolablate-{job}.sqlite")
    (tmp_path / "a plan.sqlite").write_text("backup")
    env |= {**slurm, "SLURM_CPUS_PER_TASK": "16", "SLURM_JOB_ID": job}
    try:
        # A copy that was cut off is no store.
        cut = tmp_path / ".venv/bin/cp"
        cut.write_text('#!/bin/sh\nprintf back >"$2"\nexit 1\n')
        cut.chmod(0o755)
        assert subprocess.run(["bash", *command], cwd=tmp_path, env=env, check=False).returncode == 1
        assert not store.exists()
        cut.unlink()
        for before, after in ((None, "backup"), ("newer", "newer")):
            if before is not None:
                store.write_text(before)
            subprocess.run(["bash", *command], cwd=tmp_path, env=env, check=True)
            assert store.read_text() == after
    finally:
        store.unlink(missing_ok=True)
        store.with_name(f"{store.name}.new").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (
            "start",
            ["--head", "--node-ip-address", "--port", "--include-dashboard", "--disable-usage-stats", "--num-cpus"],
        ),
        ("symmetric-run", ["--address", "--min-nodes"]),
    ],
)
def test_the_ray_that_is_installed_has_what_the_scripts_ask_of_it(command: str, options: list[str]) -> None:
    pytest.importorskip("ray")
    ray = Path(sys.executable).parent / "ray"
    told = subprocess.run([ray, command, "--help"], capture_output=True, text=True, check=True).stdout
    assert [option for option in options if option not in told] == []
