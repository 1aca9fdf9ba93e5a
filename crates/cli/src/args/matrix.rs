//! The axes of `senesce compare --matrix`.

use crate::units;
use std::str::FromStr;

/// What the file systems of a matrix differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Fs,
    Mkfs,
    Mount,
    Kernel,
    Profile,
    Size,
    Fullness,
    Overwrites,
    Churn,
}

/// All axes by their names.
const AXES: [(&str, Axis); 9] = [
    ("fs", Axis::Fs),
    ("mkfs", Axis::Mkfs),
    ("mount", Axis::Mount),
    ("kernel", Axis::Kernel),
    ("profile", Axis::Profile),
    ("size", Axis::Size),
    ("fullness", Axis::Fullness),
    ("overwrites", Axis::Overwrites),
    ("churn", Axis::Churn),
];

impl Axis {
    /// Its name.
    pub fn name(self) -> &'static str {
        AXES.iter().find(|(_, axis)| *axis == self).map_or("", |(name, _)| name)
    }

    /// Refuses what cannot be a value.
    fn check(self, value: &str) -> Result<(), String> {
        match self {
            Axis::Fs => fs::find(value).map(drop).map_err(|error| error.to_string()),
            Axis::Kernel if value.is_empty() => Err("a kernel image needs a path".to_owned()),
            _ if value.is_empty() => Ok(()),
            Axis::Mkfs if !value.starts_with('-') => {
                Err(format!("{value:?} is no option of mkfs; separate values by |, as in 'mkfs=-O a,b|-O c'"))
            }
            Axis::Mkfs | Axis::Mount | Axis::Kernel | Axis::Profile => Ok(()),
            Axis::Size => units::size(value).map(drop),
            Axis::Fullness => units::share(value).map(drop),
            Axis::Overwrites => units::overwrites(value).map(drop),
            Axis::Churn => units::churn(value).map(drop),
        }
    }
}

/// The values of an axis.
#[derive(Clone, Debug)]
pub struct AxisValues {
    pub axis: Axis,
    /// Each once; an empty one stands for the default.
    pub values: Vec<String>,
}

impl FromStr for AxisValues {
    type Err = String;

    fn from_str(text: &str) -> Result<AxisValues, String> {
        let (name, values) = text.split_once('=').ok_or("must be AXIS=VALUES, as in fs=ext4,xfs")?;
        let Some((_, axis)) = AXES.iter().find(|(known, _)| *known == name) else {
            let known = AXES.map(|(name, _)| name).join(", ");
            return Err(format!("there is no axis {name:?}; known are {known}"));
        };
        let separator = if values.contains('|') { '|' } else { ',' };
        let values: Vec<String> = values.split(separator).map(|value| value.trim().to_owned()).collect();
        values.iter().try_for_each(|value| axis.check(value))?;
        if let Some(twice) = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)) {
            return Err(format!("{name} has the value {:?} twice", twice.1));
        }
        Ok(AxisValues { axis: *axis, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_separated() {
        let values = |text: &str| text.parse::<AxisValues>().unwrap().values;
        assert_eq!(values("fs=ext4,xfs"), ["ext4", "xfs"]);
        assert_eq!(values("mkfs=-O bigalloc|"), ["-O bigalloc", ""]);
        assert_eq!(values("mkfs=-O bigalloc,^extent|"), ["-O bigalloc,^extent", ""]);
        assert_eq!(values("mount=noatime,discard"), ["noatime", "discard"]);
        assert_eq!(values("mount=noatime,discard|noatime"), ["noatime,discard", "noatime"]);
        assert_eq!(values("mkfs="), [""]);
        assert_eq!("size=1GiB".parse::<AxisValues>().unwrap().axis.name(), "size");
    }

    #[test]
    fn wrong_axes_are_refused() {
        for (text, why) in [
            ("fs", "AXIS=VALUES"),
            ("color=red", "no axis"),
            ("fs=", "no file system"),
            ("fs=ext4,ext4", "twice"),
            ("mkfs=-O a,b", "separate values by |"),
            ("kernel=", "path"),
            ("size=big", "size"),
            ("fullness=7", "at most 1"),
        ] {
            let said = text.parse::<AxisValues>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "(fs|mkfs|size|churn)?=?[-a-z0-9|,= ]{0,20}") {
            if let Ok(AxisValues { values, .. }) = text.parse() {
                prop_assert!(!values.is_empty());
            }
        }
    }
}
