//! Tests of built-in and captured profiles.

mod builtin;
mod capture;
