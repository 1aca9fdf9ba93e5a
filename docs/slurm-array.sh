#!/bin/sh
# Reproduces all figures, or compares a matrix, as an array of jobs of Slurm: `sbatch --array=1-8 docs/slurm-array.sh [AXIS=VALUES…]`, such
# as `fs=ext4,xfs 'mount=|discard'`. Each job does its part. A job that is killed or requeued goes on where it was, as its work directory stays.
#SBATCH --job-name=senesce
#SBATCH --cpus-per-task=2
#SBATCH --mem=8G
#SBATCH --time=06:00:00
#SBATCH --exclusive
#SBATCH --requeue
set -eu

scale=${SCALE:-small}
# Where all nodes can read and write: each job has a directory of its own in it.
results=${RESULTS:-$PWD/senesce-results}
work=$results/part-$SLURM_ARRAY_TASK_ID
mkdir -p "$work"

if [ $# -gt 0 ]; then
    # When all have ended:
    #   senesce store merge "$results"/part-* --into "$results/all/senesce.db"
    #   senesce compare --recorded --work "$results/all"
    exec senesce compare --matrix "$@" --work "$work" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
fi

# With STORE=postgres://HOST/DATABASE all jobs fill one laboratory, and nothing is to be merged.
senesce reproduce all --scale "$scale" --work "$work" ${STORE:+--store "$STORE"} \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"

# When all have ended:
#   senesce store merge "$results"/part-* --into all.db
#   senesce reproduce --status --store all.db
#   senesce report --store all.db -o report.html
