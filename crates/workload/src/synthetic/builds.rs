//! Builds of programs: object files written one after another, archived and linked; partial rebuilds after a
//! change; occasional cleans.

use super::{Actor, Step, Task, between, file_size};
use crate::random::Random;

/// Number of files of a program.
const FILES: std::ops::RangeInclusive<u64> = 20..=60;

/// Size limit of a source file.
const LARGEST: u64 = 256 << 10;

/// Size ratio of an object file, with debug information, to its source.
const OBJECT: u64 = 4;

pub(super) struct Builds {
    programs: Vec<Program>,
}

struct Program {
    name: String,
    sources: Vec<u64>,
    is_built: bool,
}

impl Builds {
    /// The number of programs scales with the size of the file system.
    pub fn new(size_bytes: u64) -> Builds {
        let count = (size_bytes >> 26).clamp(1, 64);
        let program = |n| Program { name: format!("programs/p{n}"), sources: Vec::new(), is_built: false };
        Builds { programs: (0..count).map(program).collect() }
    }
}

impl Actor for Builds {
    fn begin(&mut self, random: &mut Random) -> Task {
        let mut task = Task::new();
        for program in &mut self.programs {
            task.push(Step::Mkdir(format!("{}/src", program.name)));
            task.push(Step::Mkdir(format!("{}/build", program.name)));
            let count = between(random, *FILES.start(), *FILES.end());
            program.sources = (0..count).map(|_| file_size(random, LARGEST)).collect();
            for (n, size) in program.sources.iter().enumerate() {
                task.create(&format!("{}/src/{n}.c", program.name), *size);
            }
        }
        task
    }

    fn next(&mut self, is_full: bool, random: &mut Random) -> Task {
        let mut task = Task::new();
        let built: Vec<usize> = (0..self.programs.len()).filter(|n| self.programs[*n].is_built).collect();
        if !built.is_empty() && (is_full || random.unit() < 0.1) {
            let program = &mut self.programs[built[random.below(built.len())]];
            program.clean(&mut task);
            return task;
        }
        let program = random.below(self.programs.len());
        let program = &mut self.programs[program];
        let changed: Vec<usize> = match program.is_built {
            true => (0..program.sources.len()).filter(|_| random.unit() < 0.15).collect(),
            false => (0..program.sources.len()).collect(),
        };
        if program.is_built {
            for n in &changed {
                program.sources[*n] = (program.sources[*n] + between(random, 0, 2000)).min(LARGEST);
                task.replace(&format!("{}/src/{n}.c", program.name), program.sources[*n]);
            }
        }
        program.build(&changed, &mut task);
        task
    }
}

impl Program {
    fn build(&mut self, changed: &[usize], task: &mut Task) {
        let name = &self.name;
        for n in changed {
            for (kind, size) in [("d", 300), ("o", self.sources[*n] * OBJECT)] {
                let path = format!("{name}/build/{n}.{kind}");
                if self.is_built {
                    task.remove(path.clone());
                }
                task.create(&path, size);
            }
        }
        let whole = self.sources.iter().sum::<u64>() * OBJECT;
        for (product, size) in [("lib.a", whole), ("program", whole / 2)] {
            let path = format!("{name}/build/{product}");
            if self.is_built {
                task.remove(path.clone());
            }
            task.create(&path, size);
        }
        self.is_built = true;
    }

    fn clean(&mut self, task: &mut Task) {
        task.push(Step::RemoveAll(format!("{}/build", self.name)));
        task.push(Step::Mkdir(format!("{}/build", self.name)));
        self.is_built = false;
    }
}
