#!/usr/bin/env bash
# A plan on all nodes of a SLURM job: sbatch examples/cluster/slurm.sh plan.toml
# Written after Ray's documentation of `ray symmetric-run`; not run on a SLURM cluster by us.
#SBATCH --job-name=toolablate
# With one # SLURM reads these too: the partition, and the account that pays, where your site asks for them.
##SBATCH --partition=NAME
##SBATCH --account=NAME
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --exclusive
#SBATCH --time=24:00:00
# Two minutes before its end SLURM interrupts all that runs. Only toolablate listens: trials end, and the backup is made.
#SBATCH --signal=INT@120
set -euo pipefail
: "${1:?names no plan: sbatch examples/cluster/slurm.sh plan.toml}"
source .venv/bin/activate

# Keys of models: a .env beside the plan is read on every node. Or set them for all nodes here, and keep the file yours.
# export OPENAI_API_KEY=...

# Whoever has no token cannot run code. The file is on the shared file system, readable by you alone.
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH="$HOME/.toolablate-ray-$SLURM_JOB_ID" RAY_USAGE_STATS_ENABLED=0
(umask 077 && python -c "import secrets; print(secrets.token_hex(32))" >"$RAY_AUTH_TOKEN_PATH")
trap 'rm -f "$RAY_AUTH_TOKEN_PATH"' EXIT

# Nodes that read Python from a shared disk start slowly: Ray gives all of them together 30 s to join, and a process 60 s.
export RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT=300 RAY_worker_register_timeout_seconds=300

# The store is on the head's own disk while the job runs, and its backup beside the plan: every ten minutes and at the
# end. A second job for the same plan goes on from there; one that SLURM starts again on this node has its store still.
read -r head < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
# srun takes no processors from sbatch since SLURM 22.05: each node would run all on one.
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --cpus-per-task="$SLURM_CPUS_PER_TASK" \
    env --ignore-signal=INT ray symmetric-run --address "$head:6379" --min-nodes "$SLURM_JOB_NUM_NODES" --num-cpus "$SLURM_CPUS_PER_TASK" -- \
    bash -euc 'kept=$(realpath "${0%.*}.sqlite"); store=/tmp/toolablate-$SLURM_JOB_ID.sqlite
               [ -e "$store" ] || [ ! -e "$kept" ] || { cp "$kept" "$store.new"; mv "$store.new" "$store"; }
               exec env --default-signal=INT toolablate run "$0" --store "$store" --set cluster.backup="$kept" --cluster auto' "$1"
