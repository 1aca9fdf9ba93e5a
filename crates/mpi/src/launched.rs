//! Whether the program was started as a rank, which its environment tells before any MPI is asked.

use std::env;

/// How many ranks were started together with this one; none if no launcher started it.
pub fn launched() -> Option<u32> {
    ranks(|name| env::var(name).ok())
}

/// `OMPI_COMM_WORLD_SIZE` is set by Open MPI's `mpirun`, `PMI_SIZE` by those of MPICH and Intel MPI and by Slurm's `srun` with
/// `--mpi=pmi2`, `PMIX_RANK` by `srun` with `--mpi=pmix`, which leaves the number to a variable of its own.
fn ranks(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    let number = |name: &str| variable(name)?.parse().ok();
    let slurm = || variable("PMIX_RANK").and_then(|_| number("SLURM_STEP_NUM_TASKS"));
    number("OMPI_COMM_WORLD_SIZE").or_else(|| number("PMI_SIZE")).or_else(slurm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_their_variables() {
        let with = |set: &[(&str, &str)]| {
            ranks(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("OMPI_COMM_WORLD_SIZE", "4")]), Some(4));
        assert_eq!(with(&[("PMI_SIZE", "2"), ("PMI_RANK", "0")]), Some(2));
        assert_eq!(with(&[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "8")]), Some(8));
        // A batch job is no rank.
        assert_eq!(with(&[("SLURM_STEP_NUM_TASKS", "8")]), None);
    }
}
