//! Every public report has a row in `docs/manual/reports.md`, and what the row names is there.

use std::path::PathBuf;

/// The reports, P01 to this one.
const REPORTS: usize = 35;

fn manual() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/manual")
}

/// `[label](target)`, all of them.
fn links(row: &str) -> Vec<(&str, &str)> {
    let ends = row.split("](").collect::<Vec<_>>();
    ends.windows(2)
        .filter_map(|two| {
            let label = two[0].rsplit_once('[')?.1;
            let target = two[1].split_once(')')?.0;
            Some((label, target))
        })
        .collect()
}

#[test]
fn every_public_report_is_shown_by_something_that_is_there() {
    let text = std::fs::read_to_string(manual().join("reports.md")).expect("the page is there");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| P")).collect();
    assert_eq!(rows.len(), REPORTS);
    for (number, row) in (1..).zip(rows) {
        assert!(row.starts_with(&format!("| P{number:02} |")), "P{number:02} is not in its place");
        let shown = row.split('|').nth(3).expect("a third column");
        let shown = links(shown);
        assert!(!shown.is_empty(), "nothing shows P{number:02}");
        for (label, target) in shown {
            let path = manual().join(target);
            let content = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("P{number:02}: {target}: {error}"));
            let name = label.trim_matches('`');
            let is_named = match path.extension().and_then(|extension| extension.to_str()) {
                Some("rs") => content.contains(&format!("fn {name}(")),
                _ => path.file_stem().is_some_and(|stem| stem == name),
            };
            assert!(is_named, "P{number:02}: {target} has no {name}");
        }
    }
}
