//! The long form of the version, for reports of bugs.

/// The version, the commit, and what this build contains.
pub fn long() -> String {
    let commit = match env!("SENESCE_COMMIT") {
        "" => "unknown",
        commit => commit,
    };
    let features = [
        ("mpi", cfg!(feature = "mpi")),
        ("stores", cfg!(feature = "stores")),
        ("postgres", cfg!(feature = "postgres")),
    ];
    let built: Vec<&str> = features.iter().filter(|(_, built)| *built).map(|(name, _)| *name).collect();
    let features = if built.is_empty() { "none".to_owned() } else { built.join(", ") };
    let kinds: Vec<&str> = fs::kinds().iter().map(|kind| kind.name()).collect();
    format!(
        "{}\ncommit: {commit}\nfeatures: {features}\nfile systems: {}\ntarget: {}",
        results::TOOL,
        kinds.join(", "),
        env!("SENESCE_TARGET")
    )
}
