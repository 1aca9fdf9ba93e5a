//! A kernel panic. This test does not call [`senesce_vm::init`], so the first process in the machine exits at
//! once.

use senesce_vm::{Error, Kernel, Task, qemu_version, run};

#[test]
fn panic_error_quotes_kernel() {
    if std::process::id() == 1 {
        return;
    }
    let kernel = match (qemu_version(), Kernel::find(&[])) {
        (Ok(_), Ok(kernel)) => kernel,
        (Err(why), _) | (_, Err(why)) => {
            testing::skip("virtual machines", why);
            return;
        }
    };
    let task = Task {
        kernel: &kernel,
        modules: &[],
        writable: &[],
        persistent_memory: true,
        args: &[],
        keep_output: true,
    };
    let error = run(&task, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Machine { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("ended before its command did"), "{said}");
    assert!(said.contains("Kernel panic - not syncing: Attempted to kill init!"), "{said}");
}
