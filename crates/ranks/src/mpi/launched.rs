//! Detects from the environment, without MPI, whether the program was started as a rank.

use std::env;

/// Number of ranks started together with this one; none if no launcher started it.
pub fn launched() -> Option<u32> {
    ranks(|name| env::var(name).ok())
}

/// Open MPI's `mpirun` sets `OMPI_COMM_WORLD_SIZE`; those of MPICH and Intel MPI, and Slurm's `srun` with `--mpi=pmi2`, set `PMI_SIZE`;
/// `srun` with `--mpi=pmix` sets `PMIX_RANK`, and the number of ranks in a variable of its own.
fn ranks(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    let number = |name: &str| variable(name)?.parse().ok();
    let slurm = || variable("PMIX_RANK").and_then(|_| number("SLURM_STEP_NUM_TASKS"));
    number("OMPI_COMM_WORLD_SIZE").or_else(|| number("PMI_SIZE")).or_else(slurm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_detected_by_their_variables() {
        let with = |set: &[(&str, &str)]| {
            ranks(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("OMPI_COMM_WORLD_SIZE", "4")]), Some(4));
        assert_eq!(with(&[("PMI_SIZE", "2"), ("PMI_RANK", "0")]), Some(2));
        assert_eq!(with(&[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "8")]), Some(8));
        // A batch job is not a rank.
        assert_eq!(with(&[("SLURM_STEP_NUM_TASKS", "8")]), None);
    }
}
