//! Expands each line of the table to a constant and an entry of the list.

/// Defines measures: `/// Definition.`, then `CONSTANT = "name", "unit", "label", Better, flags;`. A flag is a method of [`super::Measure`].
macro_rules! measures {
    ($($(#[doc = $doc:literal])+ $id:ident = $name:literal, $unit:literal, $label:literal, $better:ident $(, $flag:ident)*;)+) => {
        $(
            $(#[doc = $doc])+
            pub const $id: Measure = Measure {
                name: $name,
                unit: $unit,
                label: $label,
                better: Better::$better,
                by_disk: false,
                topic: None,
                always: false,
                rate: false,
                doc: concat!($($doc),+).trim_ascii(),
            }
            $(.$flag())*;
        )+

        /// All measures.
        pub const MEASURES: &[&Measure] = &[$(&$id),+];
    };
}

pub(super) use measures;
