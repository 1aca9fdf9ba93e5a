//! Expands each line of the table to a constant and an entry of the list.

/// Defines measures: `/// Definition.`, then `CONSTANT = "name", "unit", "label", Better, by_disk;`.
macro_rules! measures {
    ($($(#[doc = $doc:literal])+ $id:ident = $name:literal, $unit:literal, $label:literal, $better:ident $(, $by_disk:ident)?;)+) => {
        $(
            $(#[doc = $doc])+
            pub const $id: Measure = Measure {
                name: $name,
                unit: $unit,
                label: $label,
                better: Better::$better,
                by_disk: measures!(@by_disk $($by_disk)?),
                doc: concat!($($doc),+).trim_ascii(),
            };
        )+

        /// All measures.
        pub const MEASURES: &[&Measure] = &[$(&$id),+];
    };
    (@by_disk by_disk) => { true };
    (@by_disk) => { false };
}

pub(super) use measures;
