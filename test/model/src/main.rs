//! Explores the protocols of docs/protocols.md exhaustively, and shows of each guard that it is needed.
//!
//! `protocol-model [--full] [--model NAME] [--without GUARD] [--list]`. Exits with 1 when a property is violated that
//! should hold, when one that should be possible is not, or when a guard was taken out and nothing was violated.

mod confirm;
mod create;
mod edit;
mod guarded_delete;
mod guards;
mod key_retirement;
mod receipts;
mod rename_directory;
mod rename_file;
mod store;
mod world;

use guards::{Guards, ROWS, Row, Subject};
use stateright::{Checker, Expectation, HasDiscoveries, Model};
use std::time::Instant;
use world::{Exploration, Protocol};

const SUBJECTS: [(Subject, &str); 7] = [
    (Subject::GuardedDelete, "guarded delete"),
    (Subject::Create, "create against directory"),
    (Subject::Edit, "edit of a file"),
    (Subject::RenameFile, "rename of a file"),
    (Subject::RenameDirectory, "rename of a directory"),
    (Subject::Receipts, "receipts of turns"),
    (Subject::KeyRetirement, "retirement of keys"),
];

/// What an exploration has found.
struct Found {
    states: usize,
    properties: usize,
    violated: Vec<Violation>,
    /// What should have been possible, and was not.
    impossible: Vec<&'static str>,
}

struct Violation {
    property: &'static str,
    steps: Vec<String>,
}

#[derive(Clone, Copy)]
enum Until {
    AllSeen,
    FirstViolation,
}

fn explore<P: Protocol>(protocol: P, until: Until) -> Found {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(4));
    let builder = Exploration(protocol).checker();
    let checker = match until {
        // Of one thread, so that the way to a violation is among the shortest, and always the same.
        Until::FirstViolation => builder.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join(),
        Until::AllSeen => builder.threads(threads).spawn_bfs().join(),
    };
    let properties = checker.model().properties();
    let mut found = Found {
        states: checker.unique_state_count(),
        properties: properties.len(),
        violated: Vec::new(),
        impossible: Vec::new(),
    };
    let mut discoveries = checker.discoveries();
    for property in properties {
        match (property.expectation, discoveries.remove(property.name)) {
            (Expectation::Sometimes, None) => found.impossible.push(property.name),
            (Expectation::Always, Some(path)) => {
                let steps = path.into_actions().iter().map(|action| format!("{action:?}")).collect();
                found.violated.push(Violation { property: property.name, steps });
            }
            _ => {}
        }
    }
    found
}

fn run(subject: Subject, guards: Guards, full: bool, until: Until) -> Found {
    match subject {
        Subject::GuardedDelete => explore(guarded_delete::GuardedDelete { guards, full }, until),
        Subject::Create => explore(create::Create { guards, full }, until),
        Subject::Edit => explore(edit::EditFile { guards, full }, until),
        Subject::RenameFile => explore(rename_file::RenameFile { guards, full }, until),
        Subject::RenameDirectory => explore(rename_directory::RenameDirectory { guards, full }, until),
        Subject::Receipts => explore(receipts::Receipts { guards, full }, until),
        Subject::KeyRetirement => explore(key_retirement::KeyRetirement { guards, full }, until),
    }
}

/// Explores a protocol as it is; the number of states, or nothing when it does not hold.
fn holds((subject, name): (Subject, &str), full: bool) -> Option<usize> {
    let begun = Instant::now();
    let found = run(subject, Guards::default(), full, Until::AllSeen);
    let seconds = begun.elapsed().as_secs_f64();
    println!("{name}: {} states, {} properties, {seconds:.1} s", found.states, found.properties);
    for Violation { property, steps } in &found.violated {
        println!("  VIOLATED: {property}");
        println!("    by {}", steps.join(", "));
    }
    for property in &found.impossible {
        println!("  NEVER SEEN: {property}");
    }
    (found.violated.is_empty() && found.impossible.is_empty()).then_some(found.states)
}

/// Explores a protocol without one guard; whether that violates what the table says.
fn is_needed(row: &Row) -> bool {
    let found = run(row.subject, Guards::without_one(row.guard), false, Until::FirstViolation);
    let name = row.guard.name();
    match found.violated.iter().find(|violation| violation.property == row.breaks) {
        Some(Violation { property, steps }) => {
            println!("  without {name}: violated after {} steps: {property}", steps.len());
            true
        }
        None => {
            let others: Vec<_> = found.violated.iter().map(|violation| violation.property).collect();
            println!("  without {name}: NOT NOTICED: {} (violated: {others:?})", row.breaks);
            false
        }
    }
}

/// Shows the way to the violation.
fn show(row: &Row) -> bool {
    println!("{}", row.says);
    let found = run(row.subject, Guards::without_one(row.guard), false, Until::FirstViolation);
    for Violation { property, steps } in &found.violated {
        println!("violated: {property}");
        for step in steps {
            println!("  {step}");
        }
    }
    !found.violated.is_empty()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    if has("--list") {
        for row in ROWS {
            println!("{}: {} ({})", row.guard.name(), row.says, row.carried_by.unwrap_or("assumed"));
        }
        return;
    }
    if let Some(name) = value("--without") {
        let Some(row) = ROWS.iter().find(|row| row.guard.name() == name) else {
            eprintln!("There is no guard {name}; --list shows them.");
            std::process::exit(2);
        };
        std::process::exit(if show(row) { 0 } else { 1 });
    }

    let wanted = value("--model");
    let subjects = SUBJECTS.iter().filter(|(_, name)| wanted.as_deref().is_none_or(|wanted| wanted == *name));
    let mut states = 0;
    let mut needed = 0;
    let mut failures = 0;
    for &(subject, name) in subjects {
        match holds((subject, name), has("--full")) {
            Some(count) => states += count,
            None => failures += 1,
        }
        for row in ROWS.iter().filter(|row| row.subject == subject) {
            if is_needed(row) { needed += 1 } else { failures += 1 }
        }
    }
    println!(
        "{states} distinct states without a violation; {needed} guards taken out, each with a counterexample."
    );
    if failures > 0 {
        println!("{failures} FAILED.");
        std::process::exit(1);
    }
}
