//! A file `q` and a file `q/below` that are created at once (docs/protocols.md, "Create").
//!
//! Both PUTs go first, then each creator looks for the other one's file. The upper one gives way at once, the lower
//! one waits for a young file above to go. Undoing puts a tombstone over exactly what was written, and stops there, as
//! a crash would: everybody has to pass tombstones over. An editor and a migration write meanwhile; the editor looks for the
//! other file first, and waits while it is there, unless the one that it edits is too old to be taken back.

use crate::confirm::{Put, Writing};
use crate::guards::{Guard, Guards};
use crate::store::{Answer, If, Key, Object, Request, Slots, Store, Version};
use crate::world::{Executed, Exploration, Process, Protocol, World, WorldOf};
use stateright::Property;

/// Ticks that the lower creator waits, and after which a file above is settled: 3 s.
const SETTLING: u8 = 1;
/// Ticks after which nothing is taken back any more: a minute.
const SETTLED: u8 = 2;
const UPPER: Key = 0;
const LOWER: Key = 1;
/// Another key below `q`, where a delete was cut off.
const OTHER: Key = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Body {
    /// `of`: whose create it is, by its version id. `bound`: by which write.
    File {
        of: Key,
        is_edited: bool,
        bound: usize,
    },
    Tombstone(usize),
}
use Body::{File, Tombstone};

impl Version for Body {
    fn is_tombstone(&self) -> bool {
        matches!(self, Tombstone(_))
    }
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Role {
    /// One that looks before it writes: what is left without the guard.
    LooksFirst(Key),
    Creates(Writing<Body>),
    Checks(Key),
    Undoes {
        key: Key,
        write: Writing<Body>,
        has_failed: bool,
    },
    ReadsBack {
        key: Key,
        has_failed: bool,
    },
    Created(Key),
    Refused(Key),
    /// A check got no answer; the create is taken back, and the error is told.
    Failed(Key),
    Edits(Key),
    /// Looks for the other file before the first edit.
    LooksAround {
        key: Key,
        seen: Body,
    },
    Writes(Writing<Body>),
    Edited(Writing<Body>),
    Migrates(Key),
    Ended,
    Unknown,
}
use Role::*;

#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Record {
    /// Which creates were executed at all.
    landed: [bool; 2],
    /// The upper file stood for as long as the lower creator waits, or the first look of that one took as long.
    was_slow: bool,
    built_on: bool,
    /// A creator stood still for so long that its file was taken for settled.
    stood_still: bool,
    /// An editor waited for the other file to go.
    editor_waited: bool,
    /// A create was executed after it had been taken back.
    created_twice: bool,
    undone: [bool; 2],
    waited: bool,
}

pub struct Create {
    pub guards: Guards,
    pub full: bool,
}

type Here = WorldOf<Create>;

fn fresh(key: Key) -> Body {
    File { of: key, is_edited: false, bound: 0 }
}

impl Create {
    fn undoes(&self, (key, has_failed): (Key, bool), seen: Body, me: usize) -> Role {
        let is_blind = self.guards.without(Guard::UndoOwnVersion);
        let only = if is_blind { If::Nothing } else { If::Match(seen) };
        Undoes { key, write: Writing::new(key, Tombstone(me), only), has_failed }
    }

    fn checked(&self, world: &mut Here, me: usize, key: Key, there: &Slots<Body>) -> Role {
        let counts = |body: Body| !body.is_tombstone() || self.guards.without(Guard::TombstonesPassedOver);
        let is_there = |key: Key| there[key].is_some_and(|object| counts(object.body));
        if key == UPPER {
            let is_clash = is_there(LOWER) || is_there(OTHER);
            let is_blind = self.guards.without(Guard::LookBelow);
            return if is_clash && !is_blind {
                self.undoes((key, false), fresh(key), me)
            } else {
                Created(key)
            };
        }
        if !is_there(UPPER) || self.guards.without(Guard::LookAbove) {
            return Created(key);
        }
        let is_settled = there[UPPER].is_some_and(|object| object.age > SETTLING);
        let has_waited = world.processes[me].age > SETTLING;
        if is_settled || has_waited || self.guards.without(Guard::LowerWaits) {
            return self.undoes((key, false), fresh(key), me);
        }
        world.record.waited = true;
        Checks(key)
    }

    fn read_back(
        &self,
        world: &mut Here,
        me: usize,
        (key, has_failed): (Key, bool),
        found: Option<Object<Body>>,
    ) -> Role {
        match found.map(|object| object.body) {
            Some(seen @ File { of, is_edited: false, .. })
                if of == key && !self.guards.without(Guard::ReboundIsOurs) =>
            {
                self.undoes((key, has_failed), seen, me)
            }
            Some(File { .. }) => {
                world.record.built_on |= !self.guards.without(Guard::ReboundIsOurs);
                if has_failed { Unknown } else { Created(key) }
            }
            _ => undone(key, has_failed),
        }
    }
}

impl Protocol for Create {
    type Body = Body;
    type Role = Role;
    type Record = Record;
    const OLDEST: u8 = SETTLED + 1;

    fn starts(&self) -> Vec<Here> {
        let creates = |key: Key| {
            if self.guards.without(Guard::ChecksAfterPut) { LooksFirst(key) } else { creates(key) }
        };
        let empty = || Store::new(&[]);
        let cut_off = || Store::new(&[(OTHER, Tombstone(9), 0)]);
        let mut starts: Vec<Here> = vec![
            World::new(cut_off(), [creates(UPPER), creates(LOWER)], 1, 1),
            World::new(cut_off(), [creates(UPPER)], 1, 0),
            World::new(empty(), [creates(UPPER), creates(LOWER), Edits(LOWER)], 1, 0),
            World::new(empty(), [creates(UPPER), creates(LOWER), Edits(UPPER)], 0, 0),
            World::new(empty(), [creates(UPPER), creates(LOWER), Migrates(LOWER)], 0, 0),
        ];
        if self.full {
            starts.extend([
                World::new(cut_off(), [creates(UPPER), creates(LOWER)], 2, 1),
                World::new(empty(), [creates(UPPER), creates(LOWER), Edits(UPPER), Migrates(LOWER)], 1, 1),
                World::new(empty(), [creates(UPPER), creates(LOWER), Edits(LOWER), Migrates(UPPER)], 1, 1),
                World::new(empty(), [creates(UPPER), creates(LOWER), Migrates(LOWER), Migrates(LOWER)], 1, 1),
                World::new(empty(), [creates(UPPER), creates(LOWER), Migrates(UPPER), Migrates(UPPER)], 1, 1),
            ]);
        }
        starts
    }

    fn request(&self, role: &Role) -> Option<Request<Body>> {
        match role {
            LooksFirst(_) | Checks(_) | LooksAround { .. } => Some(Request::List),
            Creates(write) | Undoes { write, .. } | Writes(write) => Some(write.request()),
            ReadsBack { key, .. } | Edits(key) | Migrates(key) => Some(Request::Get(*key)),
            _ => None,
        }
    }

    fn answered(&self, world: &mut Here, me: usize, answer: Answer<Body>) -> Role {
        match (world.processes[me].role.clone(), answer) {
            (LooksFirst(key), Answer::Listed(there)) => {
                let other = if key == UPPER { LOWER } else { UPPER };
                let is_free = there[other].is_none_or(|object| object.body.is_tombstone());
                if is_free { creates(key) } else { Refused(key) }
            }
            (Creates(write), answer) => match write.answered(answer) {
                Put::Going(write) => Creates(write),
                Put::Landed if self.guards.without(Guard::ChecksAfterPut) => Created(write.key),
                Put::Landed => {
                    world.processes[me].age = 0;
                    Checks(write.key)
                }
                Put::Refused | Put::Unknown => Unknown,
            },
            (Checks(key), Answer::Listed(there)) => self.checked(world, me, key, &there),
            (Checks(key), _) => self.undoes((key, true), fresh(key), me),
            (Undoes { key, write, has_failed }, answer) => match write.answered(answer) {
                Put::Going(write) => Undoes { key, write, has_failed },
                Put::Landed => undone(key, has_failed),
                Put::Refused => ReadsBack { key, has_failed },
                Put::Unknown => Unknown,
            },
            (ReadsBack { key, has_failed }, Answer::Found(found)) => {
                self.read_back(world, me, (key, has_failed), found)
            }
            (Edits(key), Answer::Found(Some(Object { body: seen @ File { is_edited, .. }, age }))) => {
                let is_blind = self.guards.without(Guard::FirstEditLooks);
                if is_edited || age > SETTLED || is_blind {
                    edits(key, seen, me)
                } else {
                    LooksAround { key, seen }
                }
            }
            (LooksAround { key, seen }, Answer::Listed(there)) => {
                let other = if key == UPPER { LOWER } else { UPPER };
                let is_there = there[other].is_some_and(|object| !object.body.is_tombstone());
                if !is_there {
                    return edits(key, seen, me);
                }
                world.record.editor_waited = true;
                Edits(key)
            }
            (Migrates(key), Answer::Found(Some(Object { body: File { of, is_edited, bound }, .. }))) => {
                let only = If::Match(File { of, is_edited, bound });
                Writes(Writing::new(key, File { of, is_edited, bound: me + 1 }, only))
            }
            (Writes(write), answer) => match write.answered(answer) {
                Put::Going(write) => Writes(write),
                Put::Landed => Edited(write),
                Put::Refused | Put::Unknown => Ended,
            },
            (Edits(_) | LooksAround { .. } | Migrates(_), _) => Ended,
            _ => Unknown,
        }
    }

    fn executed(&self, world: &mut Here, what: Executed<Body>) {
        let (Request::Put { key, body, .. }, Answer::Done) = (what.request, what.answer) else { return };
        let record = &mut world.record;
        match body {
            File { bound: 0, .. } => {
                record.created_twice |= record.undone[key];
                record.landed[key] = true;
            }
            Tombstone(_) => record.undone[key] = true,
            File { .. } => {}
        }
    }

    fn ticked(&self, world: &mut Here) {
        let age =
            world.store.slots[UPPER].filter(|object| !object.body.is_tombstone()).map(|object| object.age);
        let first_look = |process: &Process<Role>| process.role == Checks(LOWER) && process.age > SETTLING;
        let is_slow_look = !world.record.waited && world.processes.iter().any(first_look);
        let is_over = |key: Key| {
            world.store.slots[key].is_some_and(|object| !object.body.is_tombstone() && object.age >= SETTLED)
        };
        let is_creating = |process: &Process<Role>| match &process.role {
            Creates(write) => Some(write.key),
            Checks(key) | Undoes { key, .. } | ReadsBack { key, .. } => Some(*key),
            _ => None,
        };
        let is_late =
            world.processes.iter().filter(|process| process.is_alive).filter_map(is_creating).any(is_over);
        world.record.stood_still |= is_late;
        world.record.was_slow |= is_slow_look || age.is_some_and(|age| age >= SETTLING);
    }

    fn is_timed(&self, role: &Role) -> bool {
        *role == Checks(LOWER)
    }

    fn is_dated(&self, body: &Body) -> bool {
        matches!(body, File { .. })
    }

    fn properties() -> Vec<Property<Exploration<Self>>> {
        vec![
            Property::always("not both a file and a file below it are created", |_, world: &Here| {
                world.record.stood_still || !(is(world, Created(UPPER)) && is(world, Created(LOWER)))
            }),
            Property::always("not both are refused while all live", |_, world: &Here| {
                let is_excused = world.record.was_slow || world.crashes == 0 && gone(world);
                is_excused || !(is(world, Refused(UPPER)) && is(world, Refused(LOWER)))
            }),
            Property::always("a refused create leaves nothing", |_, world: &Here| {
                let stays = |key: Key| matches!(world.store.body(key), Some(File { of, .. }) if of == key);
                world.record.created_twice
                    || [UPPER, LOWER]
                        .iter()
                        .all(|&key| !((is(world, Refused(key)) || is(world, Failed(key))) && stays(key)))
            }),
            Property::always("a create is refused only where another file was", |_, world: &Here| {
                let other = |key: Key| if key == UPPER { LOWER } else { UPPER };
                let was_there = |key: Key| world.record.landed[other(key)];
                [UPPER, LOWER].iter().all(|&key| !is(world, Refused(key)) || was_there(key))
            }),
            Property::always("an edit that was acknowledged stays", |_, world: &Here| {
                world.processes.iter().all(|process| match process.role {
                    Edited(write) => match (world.store.body(write.key), write.body) {
                        (_, File { is_edited: false, .. }) => true,
                        (Some(File { is_edited, .. }), _) => is_edited,
                        _ => false,
                    },
                    _ => true,
                })
            }),
            Property::sometimes("the upper one wins", |_, world: &Here| {
                is(world, Created(UPPER)) && is(world, Refused(LOWER))
            }),
            Property::sometimes("the lower one waits and wins", |_, world: &Here| {
                world.record.waited && is(world, Refused(UPPER)) && is(world, Created(LOWER))
            }),
            Property::sometimes("a create that was built on stays", |_, world: &Here| world.record.built_on),
            Property::sometimes("an editor waits, and edits what stays", |_, world: &Here| {
                let has_edited = |process: &Process<Role>| matches!(process.role, Edited(_));
                world.record.editor_waited && world.processes.iter().any(has_edited)
            }),
        ]
    }
}

fn undone(key: Key, has_failed: bool) -> Role {
    if has_failed { Failed(key) } else { Refused(key) }
}

fn edits(key: Key, seen: Body, me: usize) -> Role {
    let File { of, .. } = seen else { return Ended };
    Writes(Writing::new(key, File { of, is_edited: true, bound: me + 1 }, If::Match(seen)))
}

fn creates(key: Key) -> Role {
    Creates(Writing::new(key, fresh(key), If::Absent))
}

fn is(world: &Here, role: Role) -> bool {
    world.processes.iter().any(|process| process.role == role)
}

fn gone(world: &Here) -> bool {
    world.processes.iter().any(|process| !process.is_alive)
}
