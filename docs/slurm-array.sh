#!/bin/sh
# Reproduces all figures as an array of jobs of Slurm: `sbatch --array=1-8 docs/slurm-array.sh`. Each job does its part of the figures
# with images in the memory of its own node. A job that is killed or requeued goes on where it was, as its work directory stays.
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

# With STORE=postgres://HOST/DATABASE all jobs fill one laboratory, and nothing is to be merged.
senesce reproduce all --scale "$scale" --work "$work" ${STORE:+--store "$STORE"} \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"

# When all have ended:
#   senesce store merge "$results"/part-* --into all.db
#   senesce reproduce --status --store all.db
#   senesce report --store all.db -o report.html
