//! Edits of one file by processes that hold a version of it (docs/protocols.md, "Edit" and "What a process holds").
//!
//! A text is the set of edits that it has seen. An edit is judged on the version that its process holds, if it holds
//! one, which may be older than the file; some edits need another one to be there, and end with an error without it.

use crate::confirm::{Put, Removed, Removing, Writing};
use crate::guards::{Guard, Guards};
use crate::store::{Answer, If, Key, Object, Request, Store, Version};
use crate::world::{Executed, Exploration, Protocol, World, WorldOf};
use stateright::Property;

const FILE: Key = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Body {
    /// One bit for each edit in the text.
    edits: u8,
    /// By which write: what is created again is another version, also with the same text.
    nonce: usize,
}

impl Version for Body {}

/// One edit: it adds a bit, and is possible only where another one is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edit {
    adds: u8,
    needs: u8,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Role {
    /// Before its call.
    Holds(Edit, Option<Body>),
    Reads(Edit),
    Writes {
        edit: Edit,
        write: Writing<Body>,
        is_held: bool,
    },
    /// Reads the version that its old text is to be written over: what is left without the guard.
    Forces {
        edit: Edit,
        body: Body,
    },
    /// `is_held`: by one request.
    Edited {
        edit: Edit,
        is_held: bool,
    },
    /// The caller reads that the text is not as the edit needs it.
    Refused(Edit),
    /// The caller reads that there is no file.
    Missing(Edit),
    Deletes,
    Removes(Removing<Body>),
    Creates(Writing<Body>),
    Ended,
    Unknown,
}
use Role::*;

#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Record {
    /// Of each edit by what it adds: whether it could have been refused, or found no file, at an instant since its call.
    was_refusable: u8,
    was_missing: u8,
    /// Somebody has deleted the file.
    is_deleted: bool,
    was_stale: bool,
}

pub struct EditFile {
    pub guards: Guards,
    pub full: bool,
}

type Here = WorldOf<EditFile>;

impl EditFile {
    fn judged(&self, me: usize, (edit, there, is_held): (Edit, Body, bool)) -> Role {
        if there.edits & edit.needs != edit.needs {
            let is_told = !is_held || self.guards.without(Guard::ErrorAsksStore);
            return if is_told { Refused(edit) } else { Reads(edit) };
        }
        let body = Body { edits: there.edits | edit.adds, nonce: me + 1 };
        self.writes((edit, body, is_held), there)
    }

    fn writes(&self, (edit, body, is_held): (Edit, Body, bool), base: Body) -> Role {
        let only = if self.guards.without(Guard::EditIfMatch) { If::Nothing } else { If::Match(base) };
        Writes { edit, write: Writing::new(FILE, body, only), is_held }
    }
}

fn called(role: &Role) -> Option<Edit> {
    match *role {
        Reads(edit) | Writes { edit, .. } | Forces { edit, .. } => Some(edit),
        _ => None,
    }
}

/// What the file is now can be told to everybody whose call is under way.
fn note(world: &mut Here) {
    let there = world.store.body(FILE);
    for edit in world.processes.iter().filter_map(|process| called(&process.role)).collect::<Vec<_>>() {
        match there {
            None => world.record.was_missing |= edit.adds,
            Some(body) if body.edits & edit.needs != edit.needs => world.record.was_refusable |= edit.adds,
            _ => {}
        }
    }
}

impl Protocol for EditFile {
    type Body = Body;
    type Role = Role;
    type Record = Record;
    const OLDEST: u8 = 0;

    fn starts(&self) -> Vec<Here> {
        let old = Body { edits: 1, nonce: 10 };
        let new = Body { edits: 3, nonce: 11 };
        let holds = |adds: u8, needs: u8, held: Option<Body>| Holds(Edit { adds, needs }, held);
        let recreate = || Creates(Writing::new(FILE, Body { edits: 1, nonce: 12 }, If::Absent));
        let file = |body: Body| Store::new(&[(FILE, body, 0)]);
        let mut starts = vec![
            World::new(file(old), [holds(4, 1, Some(old)), holds(8, 1, Some(old)), holds(16, 1, None)], 1, 1),
            // The text that the edits need came after what they hold.
            World::new(file(new), [holds(4, 2, Some(old)), holds(8, 1, Some(old))], 1, 1),
            World::new(file(old), [holds(4, 2, Some(old)), holds(2, 1, None)], 1, 0),
            World::new(file(old), [holds(4, 1, Some(old)), Deletes, recreate()], 1, 0),
        ];
        if self.full {
            starts.extend([
                World::new(
                    file(old),
                    [holds(4, 1, Some(old)), holds(8, 4, Some(old)), Deletes, recreate()],
                    2,
                    1,
                ),
                World::new(
                    file(new),
                    [holds(4, 2, Some(old)), holds(8, 4, Some(new)), holds(16, 8, None)],
                    2,
                    1,
                ),
            ]);
        }
        starts
    }

    fn choices(&self, world: &Here, me: usize) -> u8 {
        u8::from(matches!(world.processes[me].role, Holds(..)))
    }

    fn choose(&self, world: &mut Here, me: usize, _: u8) -> Role {
        let Holds(edit, held) = world.processes[me].role.clone() else { return Ended };
        world.processes[me].role = Reads(edit);
        note(world);
        world.record.was_stale |= held.is_some() && held != world.store.body(FILE);
        held.map_or(Reads(edit), |held| self.judged(me, (edit, held, true)))
    }

    fn request(&self, role: &Role) -> Option<Request<Body>> {
        match role {
            Reads(_) | Forces { .. } | Deletes => Some(Request::Get(FILE)),
            Writes { write, .. } | Creates(write) => Some(write.request()),
            Removes(removing) => Some(removing.request()),
            _ => None,
        }
    }

    fn answered(&self, world: &mut Here, me: usize, answer: Answer<Body>) -> Role {
        match (world.processes[me].role.clone(), answer) {
            (Reads(edit), Answer::Found(Some(Object { body, .. }))) => self.judged(me, (edit, body, false)),
            (Reads(edit) | Forces { edit, .. }, Answer::Found(None)) => Missing(edit),
            (Forces { edit, body }, Answer::Found(Some(Object { body: base, .. }))) => {
                self.writes((edit, body, false), base)
            }
            (Writes { edit, write, is_held }, answer) => match write.answered(answer) {
                Put::Going(write) => Writes { edit, write, is_held },
                Put::Landed => Edited { edit, is_held },
                Put::Refused if self.guards.without(Guard::ConflictJudgesAgain) => {
                    Forces { edit, body: write.body }
                }
                Put::Refused => Reads(edit),
                Put::Unknown => Unknown,
            },
            (Deletes, Answer::Found(Some(Object { body, .. }))) => {
                Removes(Removing::new(FILE, If::Match(body)))
            }
            (Removes(removing), answer) => match removing.answered(answer) {
                Removed::Going(removing) => Removes(removing),
                _ => Ended,
            },
            (Creates(write), answer) => match write.answered(answer) {
                Put::Going(write) => Creates(write),
                _ => Ended,
            },
            _ => Unknown,
        }
    }

    fn executed(&self, world: &mut Here, what: Executed<Body>) {
        let is_removal = matches!(what.request, Request::Remove { .. });
        world.record.is_deleted |= is_removal && what.answer == Answer::Done;
        note(world);
    }

    fn is_time_passing(&self, _: &Here) -> bool {
        false
    }

    fn properties() -> Vec<Property<Exploration<Self>>> {
        vec![
            Property::always(
                "an edit that was acknowledged stays until the file is deleted",
                |_, world: &Here| {
                    let there = world.store.body(FILE).map_or(0, |body| body.edits);
                    world.record.is_deleted
                        || world.processes.iter().all(|process| match process.role {
                            Edited { edit, .. } => there & edit.adds != 0,
                            _ => true,
                        })
                },
            ),
            Property::always("an error was true while its command ran", |_, world: &Here| {
                world.processes.iter().all(|process| match process.role {
                    Refused(edit) => world.record.was_refusable & edit.adds != 0,
                    Missing(edit) => world.record.was_missing & edit.adds != 0,
                    _ => true,
                })
            }),
            Property::sometimes("a version that is held is edited by one request", |_, world: &Here| {
                world.processes.iter().any(|process| matches!(process.role, Edited { is_held: true, .. }))
            }),
            Property::sometimes("a version that was replaced is judged again", |_, world: &Here| {
                let is_again = |role: &Role| matches!(role, Edited { is_held: false, .. });
                world.record.was_stale && world.processes.iter().any(|process| is_again(&process.role))
            }),
            Property::sometimes("an edit is refused", |_, world: &Here| {
                world.processes.iter().any(|process| matches!(process.role, Refused(_)))
            }),
            Property::sometimes("an edit finds no file", |_, world: &Here| {
                world.processes.iter().any(|process| matches!(process.role, Missing(_)))
            }),
        ]
    }
}
