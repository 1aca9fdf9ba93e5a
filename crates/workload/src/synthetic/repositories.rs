//! Work with the real git: sources are changed and committed, branches checked out, objects packed
//! occasionally, and repositories replaced by new ones.

use super::{Actor, Step, Task, between, file_size};
use crate::random::Random;

const LARGEST: u64 = 256 << 10;

pub(super) struct Repositories {
    repositories: Vec<Repository>,
    made: u64,
}

#[derive(Default)]
struct Repository {
    name: String,
    files: Vec<String>,
    commits: u64,
    /// Whether the branch `other` is checked out.
    is_other: bool,
}

impl Repositories {
    pub fn new(size_bytes: u64) -> Repositories {
        let count = (size_bytes >> 28).clamp(1, 16);
        Repositories { repositories: (0..count).map(|_| Repository::default()).collect(), made: 0 }
    }

    /// Creates a repository and its first commit.
    fn make(&mut self, place: usize, random: &mut Random, task: &mut Task) {
        self.made += 1;
        let name = format!("git/r{}", self.made);
        let mut repository = Repository { name, ..Repository::default() };
        for dir in 0..6 {
            task.push(Step::Mkdir(format!("{}/d{dir}", repository.name)));
        }
        repository.git(task, &["init", "--quiet", "--template="]);
        for n in 0..between(random, 60, 160) {
            let path = format!("{}/d{}/{n}.rs", repository.name, random.below(6));
            task.create(&path, file_size(random, LARGEST));
            repository.files.push(path);
        }
        repository.commit(task);
        repository.git(task, &["branch", "other"]);
        self.repositories[place] = repository;
    }
}

impl Actor for Repositories {
    fn begin(&mut self, random: &mut Random) -> Task {
        let mut task = Task::new();
        (0..self.repositories.len()).for_each(|place| self.make(place, random, &mut task));
        task
    }

    fn next(&mut self, is_full: bool, random: &mut Random) -> Task {
        let mut task = Task::new();
        let place = random.below(self.repositories.len());
        let dice = random.unit();
        if dice < 0.05 {
            task.push(Step::RemoveAll(self.repositories[place].name.clone()));
            self.make(place, random, &mut task);
            return task;
        }
        let repository = &mut self.repositories[place];
        if is_full || dice < 0.15 {
            repository.git(&mut task, &["gc", "--quiet", "--prune=now"]);
        } else if dice < 0.4 {
            let branch = if repository.is_other { "main" } else { "other" };
            repository.is_other = !repository.is_other;
            repository.git(&mut task, &["checkout", "--quiet", branch]);
        } else {
            for _ in 0..between(random, 3, 15) {
                let path = &repository.files[random.below(repository.files.len())];
                task.replace(path, file_size(random, LARGEST));
            }
            repository.commit(&mut task);
        }
        task
    }
}

impl Repository {
    fn git(&self, task: &mut Task, args: &[&str]) {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        task.push(Step::Git(self.name.clone(), args));
    }

    fn commit(&mut self, task: &mut Task) {
        self.commits += 1;
        self.git(task, &["add", "--all"]);
        self.git(task, &["commit", "--quiet", "--allow-empty", "-m", &self.commits.to_string()]);
    }
}
