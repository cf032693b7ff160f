#!/usr/bin/env bash
# A plan on machines that ssh reaches, this one the head: examples/cluster/machines.sh plan.toml NODE...
# Start it in the folder of the plan, which has the same path on each of them, with toolablate in its .venv. The store
# stays on this one. Tried with stand-ins for ssh and Ray; not run on several real machines by us.
set -euo pipefail
plan=$1
nodes=("${@:2}")
source .venv/bin/activate
address=${HEAD_ADDRESS:-$(hostname -I | cut -d ' ' -f 1)}:6379

# Whoever has no token cannot run code: one for this run, readable by you alone.
token=$(python -c "import secrets; print(secrets.token_hex(32))")
file=.toolablate-ray-${token:0:8}
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH="$HOME/$file" RAY_USAGE_STATS_ENABLED=0

there() {
    local node=$1
    shift
    ssh "$node" "cd $(printf %q "$PWD") && . .venv/bin/activate && RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=~/$file \
RAY_USAGE_STATS_ENABLED=0 $*"
}

# `ray stop` ends every Ray of a machine, that of others' runs too; where this one could not be started it is not called.
started=() here=
finish() {
    for node in ${started[@]+"${started[@]}"}; do
        there "$node" ray stop || true
    done
    for node in "${nodes[@]}"; do
        ssh "$node" "rm -f ~/$file" || true
    done
    [ -z "$here" ] || ray stop || true
    rm -f "$RAY_AUTH_TOKEN_PATH"
}
trap finish EXIT

(umask 077 && echo "$token" >"$RAY_AUTH_TOKEN_PATH")
ray start --head --node-ip-address "${address%:*}" --port 6379 --include-dashboard=false --disable-usage-stats
here=yes
for node in "${nodes[@]}"; do
    # By standard input: arguments show in lists of processes.
    ssh "$node" "umask 077 && cat >~/$file" <"$RAY_AUTH_TOKEN_PATH"
    there "$node" ray start --address "$address" --disable-usage-stats
    started+=("$node")
done
toolablate doctor "$plan" --cluster "$address"
toolablate run "$plan" --cluster "$address"
