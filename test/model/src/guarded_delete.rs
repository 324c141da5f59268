//! Guarded delete on a store that ignores preconditions on DELETE (docs/protocols.md, "Two classes of stores").
//!
//! One key. A deleter replaces the version that it saw by a tombstone and then sends one DELETE; a creator waits for
//! tombstones to go, or takes over what a crash has left; an editor writes meanwhile; the expiry run buries old ones.

use crate::confirm::{Put, Writing};
use crate::guards::{Guard, Guards};
use crate::store::{Answer, If, Object, Request, Store, Version};
use crate::world::{Executed, Exploration, Protocol, World, WorldOf};
use stateright::Property;

/// Ticks that a DELETE may live, counted from before the PUT of its tombstone: 15 s.
const LIFE: u8 = 1;
/// Ticks after which a tombstone may be taken over: 180 s.
const TAKEOVER: u8 = 3;
const KEY: usize = 0;
/// Whoever wrote what was there at first.
const FIRST: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Body {
    /// A sealed file, by who wrote it.
    File(usize),
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
    Deletes,
    /// The expiry run, which buries tombstones that are old.
    Buries,
    Places {
        seen: Body,
        write: Writing<Body>,
    },
    /// The tombstone lies; credentials, signing and the socket's queue are between this and the wire.
    Decided,
    Sends {
        again: bool,
    },
    Deleted,
    /// Told as definite: what was seen is another process's matter.
    NotDeleted,
    Creates(Writing<Body>),
    Looks,
    TakesOver(Writing<Body>),
    Waits,
    Created,
    Edits,
    Writes(Writing<Body>),
    Edited,
    Unavailable,
    Unknown,
}
use Role::*;

/// What has happened to the files.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Record {
    /// A DELETE, or a PUT without a precondition, has removed a file that it was not about.
    file_lost: bool,
    /// Which process put a tombstone over a file, and over whose.
    buried: Vec<(usize, usize)>,
    /// A create was executed for the second time, by the network or after a lost answer.
    created_twice: bool,
    taken_over: bool,
    reburied: bool,
}

pub struct GuardedDelete {
    pub guards: Guards,
    pub full: bool,
}

type Here = WorldOf<GuardedDelete>;

impl GuardedDelete {
    fn places(&self, world: &mut Here, me: usize, seen: Body) -> Role {
        world.processes[me].age = 0;
        let is_blind = self.guards.without(Guard::TombstoneIfMatch);
        let only = if is_blind { If::Nothing } else { If::Match(seen) };
        Places { seen, write: Writing::new(KEY, Tombstone(me), only) }
    }

    fn placed(&self, world: &mut Here, me: usize, answer: Answer<Body>) -> Role {
        let Places { seen, write } = world.processes[me].role else { return Unknown };
        let is_lost = answer == Answer::Lost;
        match write.answered(answer) {
            Put::Going(_) if is_lost && self.guards.without(Guard::LostTombstoneReadBack) => NotDeleted,
            Put::Going(write) => Places { seen, write },
            Put::Landed => {
                if self.guards.without(Guard::LifeFromBeforeTombstone) {
                    world.processes[me].age = 0;
                }
                Decided
            }
            Put::Refused => NotDeleted,
            Put::Unknown => Unknown,
        }
    }

    fn looked(&self, me: usize, found: Option<Object<Body>>) -> Role {
        match found {
            Some(Object { body: File(_), .. }) => Unavailable,
            Some(Object { body, age }) if self.may_take_over(age) => {
                let is_blind = self.guards.without(Guard::TakeoverIfMatch);
                let only = if is_blind { If::Nothing } else { If::Match(body) };
                TakesOver(Writing::new(KEY, File(me), only))
            }
            _ => Waits,
        }
    }

    fn may_take_over(&self, age: u8) -> bool {
        let is_early = self.guards.without(Guard::TakeoverOutlivesDelete) && age >= LIFE;
        age > TAKEOVER || is_early || self.guards.without(Guard::YoungTombstonesStay)
    }
}

impl Protocol for GuardedDelete {
    type Body = Body;
    type Role = Role;
    type Record = Record;
    const OLDEST: u8 = TAKEOVER + 1;

    fn starts(&self) -> Vec<Here> {
        let creates = |me| Creates(Writing::new(KEY, File(me), If::Absent));
        let file = || Store::new(&[(KEY, File(FIRST), 0)]);
        let tombstone = || Store::new(&[(KEY, Tombstone(FIRST), TAKEOVER + 1)]);
        let mut starts: Vec<Here> = vec![
            World::new(file(), [Deletes, Deletes, creates(2)], 1, 1),
            World::new(file(), [Deletes, creates(1), Edits], 1, 1),
            World::new(tombstone(), [creates(0), creates(1), Buries], 1, 0),
        ];
        if self.full {
            starts.extend([
                World::new(file(), [Deletes, Deletes, creates(2), Edits], 1, 1),
                World::new(file(), [Deletes, creates(1), creates(2), Buries], 1, 1),
                World::new(file(), [Deletes, Deletes, creates(2)], 2, 1),
                World::new(tombstone(), [creates(0), Deletes, Buries, Buries], 1, 1),
            ]);
        }
        starts
    }

    fn request(&self, role: &Role) -> Option<Request<Body>> {
        match role {
            Deletes | Buries | Looks | Edits => Some(Request::Get(KEY)),
            Places { write, .. } | Creates(write) | TakesOver(write) | Writes(write) => Some(write.request()),
            Sends { .. } => Some(Request::Delete(KEY)),
            _ => None,
        }
    }

    fn answered(&self, world: &mut Here, me: usize, answer: Answer<Body>) -> Role {
        match (world.processes[me].role.clone(), answer) {
            (Deletes, Answer::Found(Some(Object { body: seen @ File(_), .. }))) => {
                self.places(world, me, seen)
            }
            (Buries, Answer::Found(Some(Object { body: seen @ Tombstone(_), age }))) if age > TAKEOVER => {
                if self.guards.without(Guard::BuryOwnTombstone) {
                    world.processes[me].age = 0;
                    return Decided;
                }
                self.places(world, me, seen)
            }
            (Deletes | Buries, _) => NotDeleted,
            (Places { .. }, answer) => self.placed(world, me, answer),
            (Sends { again: false }, Answer::Lost) if self.guards.without(Guard::DeleteSentOnce) => {
                Sends { again: true }
            }
            (Sends { .. }, _) => Deleted,
            (Creates(write), answer) => match write.answered(answer) {
                Put::Going(write) => Creates(write),
                Put::Landed => Created,
                Put::Refused => Looks,
                Put::Unknown => Unknown,
            },
            (Looks, Answer::Found(found)) => self.looked(me, found),
            (TakesOver(write), answer) => match write.answered(answer) {
                Put::Going(write) => TakesOver(write),
                Put::Landed => Created,
                Put::Refused => Waits,
                Put::Unknown => Unknown,
            },
            (Edits, Answer::Found(Some(Object { body: seen @ File(_), .. }))) => {
                Writes(Writing::new(KEY, File(me), If::Match(seen)))
            }
            (Writes(write), answer) => match write.answered(answer) {
                Put::Going(write) => Writes(write),
                Put::Landed => Edited,
                Put::Refused => Unavailable,
                Put::Unknown => Unknown,
            },
            _ => Unavailable,
        }
    }

    fn choices(&self, world: &Here, me: usize) -> u8 {
        match world.processes[me].role {
            Decided | Waits => 1,
            _ => 0,
        }
    }

    fn choose(&self, world: &mut Here, me: usize, _choice: u8) -> Role {
        if world.processes[me].role == Waits {
            return Creates(Writing::new(KEY, File(me), If::Absent));
        }
        let looks_before_the_wire = !self.guards.without(Guard::LookBeforeTheWire);
        if looks_before_the_wire && world.processes[me].age > LIFE {
            return Deleted;
        }
        if !looks_before_the_wire {
            world.processes[me].age = 0;
        }
        Sends { again: false }
    }

    fn life(&self, request: &Request<Body>) -> Option<u8> {
        let is_bounded = matches!(request, Request::Delete(_)) && !self.guards.without(Guard::DeleteEnds);
        is_bounded.then_some(LIFE)
    }

    /// Assumed of the network: a DELETE is delivered once.
    fn may_double(&self, request: &Request<Body>) -> bool {
        !matches!(request, Request::Delete(_)) || self.guards.without(Guard::DeleteDeliveredOnce)
    }

    fn executed(&self, world: &mut Here, what: Executed<Body>) {
        if what.answer != Answer::Done {
            return;
        }
        let seen = match world.processes[what.by].role {
            Places { seen, .. } => Some(seen),
            _ => None,
        };
        let record = &mut world.record;
        if let Request::Put { body: File(by), .. } = what.request {
            record.created_twice |= record.buried.iter().any(|&(_, of)| of == by);
        }
        match (what.request, what.before) {
            (Request::Delete(_), Some(File(_))) => record.file_lost = true,
            (Request::Put { only: If::Nothing, .. }, Some(there @ File(_))) if seen != Some(there) => {
                record.file_lost = true;
            }
            (Request::Put { body: Tombstone(by), .. }, Some(File(of))) => record.buried.push((by, of)),
            (Request::Put { body: Tombstone(_), .. }, Some(_)) => record.reburied = true,
            (Request::Put { body: File(_), .. }, Some(Tombstone(_))) => record.taken_over = true,
            _ => {}
        }
    }

    fn is_timed(&self, role: &Role) -> bool {
        matches!(role, Places { .. } | Decided | Sends { .. })
    }

    fn is_dated(&self, body: &Body) -> bool {
        body.is_tombstone()
    }

    fn has_blind_clocks(&self) -> bool {
        self.guards.without(Guard::BothClocks)
    }

    fn properties() -> Vec<Property<Exploration<Self>>> {
        vec![
            Property::always("a DELETE removes tombstones only", |_, world: &Here| !world.record.file_lost),
            Property::always("a deleted version stays deleted", |model: &Exploration<Self>, world: &Here| {
                let is_excused =
                    world.record.created_twice && !model.0.guards.without(Guard::CreateExecutedOnce);
                let is_back = |&(_, of): &(usize, usize)| world.store.body(KEY) == Some(File(of));
                is_excused || !world.record.buried.iter().any(is_back)
            }),
            Property::always(
                "who is told that nothing was deleted has deleted nothing",
                |_, world: &Here| {
                    let told = |&(by, _): &(usize, usize)| world.processes[by].role == NotDeleted;
                    !world.record.buried.iter().any(told)
                },
            ),
            Property::always("a version is deleted for one caller", |_, world: &Here| {
                let is_excused = world.record.created_twice;
                let has_rival = |&(by, of): &(usize, usize)| {
                    world.record.buried.iter().any(|&(other, same)| same == of && other != by)
                };
                is_excused || !world.record.buried.iter().any(has_rival)
            }),
            Property::sometimes("a file is deleted and created anew", |_, world: &Here| {
                let is = |role: &Role| world.processes.iter().any(|process| process.role == *role);
                is(&Deleted) && is(&Created)
            }),
            Property::sometimes("a tombstone is taken over", |_, world: &Here| world.record.taken_over),
            Property::sometimes("an old tombstone is buried", |_, world: &Here| {
                world.record.reburied && world.store.body(KEY).is_none()
            }),
            Property::sometimes("an edit comes first, and the delete is told so", |_, world: &Here| {
                let is = |role: &Role| world.processes.iter().any(|process| process.role == *role);
                is(&Edited) && is(&NotDeleted)
            }),
        ]
    }
}
