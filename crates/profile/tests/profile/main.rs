//! Profiles: those that are built in, and captured ones.

mod builtin;
mod capture;
