//! The schema of a Parquet file, from its columns.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{Type, TypePtr};

/// A column.
///
/// # Panics
/// If the types do not fit together: a schema is a constant of the program.
pub fn column(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
    repetition: Repetition,
) -> TypePtr {
    let column = Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build();
    Arc::new(column.expect("the column types are valid"))
}

/// A column of unsigned integers of 32 or 64 bits.
///
/// # Panics
/// For another number of bits.
pub fn unsigned(name: &str, bits: i8, repetition: Repetition) -> TypePtr {
    let physical = if bits == 64 { Physical::INT64 } else { Physical::INT32 };
    column(name, physical, Some(LogicalType::integer(bits, false)), repetition)
}

/// The schema with these columns.
///
/// # Panics
/// If the columns do not fit together: a schema is a constant of the program.
pub fn schema(name: &str, columns: Vec<TypePtr>) -> TypePtr {
    let schema = Type::group_type_builder(name).with_fields(columns).build();
    Arc::new(schema.expect("the schema is valid"))
}
