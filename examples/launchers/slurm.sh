#!/bin/bash
# Trains on two nodes with Slurm: sbatch slurm.sh
#SBATCH --job-name=thalweg
#SBATCH --nodes=2
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
#SBATCH --requeue
set -euo pipefail

# Slurm may copy this file elsewhere before it runs; srun starts the tasks in the folder of sbatch.
program=${PROGRAM:-train.py}
checkpoints=${CHECKPOINTS:-$HOME/thalweg/$SLURM_JOB_NAME}  # on a file system that all nodes share

# Tasks on several nodes prove to each other that they belong together. srun hands the environment on to them.
THALWEG_CLUSTER_TOKEN=$(openssl rand -hex 32)
export THALWEG_CLUSTER_TOKEN
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}

# Jobs on the same nodes have ports of their own.
port=$((20000 + SLURM_JOB_ID % 1000 * 10))

# Task 0 is the parameter server, the others are workers. The end of one task by an error ends all.
srun --kill-on-bad-exit=1 --label \
    thalweg run "$program" --checkpoints "$checkpoints" --steps "${STEPS:-1000}" --ps 1 --port "$port"
