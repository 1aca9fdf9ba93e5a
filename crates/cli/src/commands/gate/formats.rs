//! The results of a gate for the programs that run it: JUnit XML, TAP, Markdown.

use super::words;
use crate::output;
use anyhow::Result;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use run::gate::{Judgement, Moved, Movement};

fn has_regressed(moved: &Moved) -> bool {
    moved.movement == Movement::Regressed
}

/// One test case for each measure and side, in the form that Jenkins and GitLab read.
pub fn junit(suite: &str, judgement: &Judgement) -> Result<String> {
    let failures = judgement.measures.iter().filter(|moved| has_regressed(moved)).count().to_string();
    let tests = judgement.measures.len().to_string();
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("testsuite")
        .with_attributes([("name", suite), ("tests", &tests), ("failures", &failures)])
        .write_inner_content(|xml| {
            for moved in &judgement.measures {
                let class = format!("{suite}.{}", moved.side);
                let case = xml
                    .create_element("testcase")
                    .with_attributes([("classname", &*class), ("name", &*moved.measure)]);
                if has_regressed(moved) {
                    let told = words::sentence(moved);
                    case.write_inner_content(|xml| {
                        let failure = xml.create_element("failure").with_attribute(("message", &*told));
                        failure.write_text_content(BytesText::new(&told)).map(drop)
                    })?;
                } else {
                    case.write_empty()?;
                }
            }
            Ok::<_, std::io::Error>(())
        })?;
    let mut text = String::from_utf8(xml.into_inner())?;
    text.push('\n');
    Ok(text)
}

/// TAP version 14: one test point for each measure and side.
pub fn tap(judgement: &Judgement) -> String {
    let mut text = format!("TAP version 14\n1..{}\n", judgement.measures.len());
    for (at, moved) in judgement.measures.iter().enumerate() {
        let state = if has_regressed(moved) { "not ok" } else { "ok" };
        text.push_str(&format!("{state} {} - {} {}\n", at + 1, moved.side, moved.measure));
        if has_regressed(moved) {
            text.push_str(&format!("# {}\n", words::sentence(moved)));
        }
    }
    text
}

/// A heading, the result in a sentence, what moved in a table, and the rest below a fold, as GitHub and GitLab show it.
pub fn markdown(name: &str, judgement: &Judgement) -> String {
    let verdict = if judgement.regressed { "regressed" } else { "passed" };
    let (moved, same): (Vec<&Moved>, Vec<&Moved>) =
        judgement.measures.iter().partition(|moved| moved.movement != Movement::Unchanged);
    let table = |rows: &[&Moved]| output::as_markdown(&words::HEADINGS, rows.iter().map(|of| words::row(of)));
    let mut text = format!("### {name}: {verdict}\n\n{}\n", words::summary(judgement));
    if !moved.is_empty() {
        text.push_str(&format!("\n{}\n", table(&moved)));
    }
    if !same.is_empty() {
        let count = same.len();
        text.push_str(&format!(
            "\n<details><summary>{count} measures as before</summary>\n\n{}\n</details>\n",
            table(&same)
        ));
    }
    text
}
