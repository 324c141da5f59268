//! The rename of one file (docs/protocols.md, "Rename of a file"): a copy, then a guarded delete of what was copied.
//!
//! Three places. Renames race with one another, with an editor, a deleter, a creator, a migration, which binds
//! files anew, and with `verify --repair`, which removes one of two places that hold the same file. No bound on time is
//! needed: any process may stand still for ever, anywhere.

use crate::confirm::{Put, Removed, Removing, Writing};
use crate::guards::{Guard, Guards};
use crate::store::{Answer, If, Key, Object, Request, Store, Version};
use crate::world::{Executed, Exploration, Protocol, World, WorldOf};
use stateright::Property;

const A: Key = 0;
const B: Key = 1;
const C: Key = 2;
const PLACES: [Key; 3] = [A, B, C];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct File {
    /// What has gone into the text: 1 what was at A, 2 what was at C, and a bit for each process that has written.
    text: u8,
    /// Of the sealing; re-binding keeps it.
    content: u8,
    /// Which rename, or repair, has bound this version here; migrations keep it.
    origin: u8,
    /// The same as `origin` should say; nobody in the model looks at it.
    bound_by: u8,
    /// Which write.
    nonce: u8,
}

impl Version for File {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Move {
    from: Key,
    to: Key,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Role {
    Reads(Move),
    Copies { source: File, write: Writing<File>, way: Move },
    RemovesSource { source: File, copy: File, removing: Removing<File>, way: Move },
    ReadsAgain { source: File, copy: File, way: Move },
    CopiesAgain { older: File, source: File, write: Writing<File>, way: Move },
    LooksAtCopy { older: File, source: File, way: Move },
    Undoes { copy: File, removing: Removing<File> },
    LooksAtUndone { copy: File, key: Key },
    Renamed,
    NotFound,
    Exists,
    BothKept,
    Edits(Key),
    Writes(Writing<File>),
    Acknowledged,
    Deletes(Key),
    Removes(Removing<File>),
    Migrates(Key),
    Repairs { keep: Key, other: Key },
    WritesAnew { write: Writing<File>, other: Key, older: File },
    Ended,
    Unknown,
}
use Role::*;

#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Record {
    /// Processes that delete on purpose, by bit.
    deleters: u8,
    /// What must not vanish: what was there at first, and what was acknowledged, by bit of the text.
    promised: u8,
    /// What they have deleted, by bit of the text.
    deleted: u8,
    /// Writes that were executed, by nonce.
    landed: u32,
    /// The network, or a resend, has executed a create twice, or after its process was told how it ended.
    created_twice: bool,
    /// A copy was taken back that the rename had not made.
    took_anothers: bool,
    undone: bool,
    copied_again: bool,
    /// A source was found bound again.
    bound_again: bool,
    repaired: bool,
}

pub struct RenameFile {
    pub guards: Guards,
    pub full: bool,
}

type Here = WorldOf<RenameFile>;

/// Writes of one process, `nth` of it.
fn nonce(me: usize, nth: u8) -> u8 {
    me as u8 * 8 + nth
}

fn bit(me: usize) -> u8 {
    4 << me
}

impl RenameFile {
    fn copy_of(&self, source: File, me: usize, before: Option<File>) -> File {
        let nth = before.map_or(1, |copy| copy.nonce % 8 + 1).min(7);
        let origin = if self.guards.without(Guard::RenameStampsOrigin) { 0 } else { me as u8 + 1 };
        File { origin, bound_by: me as u8 + 1, nonce: nonce(me, nth), ..source }
    }

    fn removes_source(&self, way: Move, source: File, copy: File) -> Role {
        let is_blind = self.guards.without(Guard::SourceAsCopied);
        let only = if is_blind { If::Nothing } else { If::Match(source) };
        RemovesSource { source, copy, removing: Removing::new(way.from, only), way }
    }

    fn undoes(&self, key: Key, copy: File, seen: File) -> Role {
        let is_blind = self.guards.without(Guard::CopyAsWritten);
        let only = if is_blind { If::Nothing } else { If::Match(seen) };
        Undoes { copy, removing: Removing::new(key, only) }
    }

    /// The source is gone by another process's delete or rename, which came first: the copy must not stay.
    fn gives_up(&self, way: Move, copy: File) -> Role {
        if self.guards.without(Guard::CopyGoesWithSource) {
            NotFound
        } else {
            self.undoes(way.to, copy, copy)
        }
    }

    fn copies_again(&self, me: usize, way: Move, (older, source, base): (File, File, File)) -> Role {
        let body = self.copy_of(source, me, Some(base));
        let is_blind = self.guards.without(Guard::CopyOverOwnCopy);
        let only = if is_blind { If::Nothing } else { If::Match(base) };
        CopiesAgain { older, source, write: Writing::new(way.to, body, only), way }
    }

    fn source_removed(&self, way: Move, (source, copy): (File, File), answer: Removed<File>) -> Role {
        let counts = |definite: bool| definite || self.guards.without(Guard::OwnDeleteIsNobodys);
        match answer {
            Removed::Going(removing) => RemovesSource { source, copy, removing, way },
            Removed::Gone => Renamed,
            Removed::Changed { definite } if counts(definite) => ReadsAgain { source, copy, way },
            Removed::Missing { definite } if counts(definite) => self.gives_up(way, copy),
            _ => Unknown,
        }
    }

    fn is_ours(&self, found: File, copy: File) -> bool {
        found.content == copy.content && found.origin == copy.origin
    }

    /// Nothing but a migration lies between the two.
    fn is_bound_again(&self, earlier: File, later: File) -> bool {
        let is_blind = self.guards.without(Guard::BoundAgainKeepsOrigin);
        later.content == earlier.content && (later.origin == earlier.origin || is_blind)
    }

    fn begun(&self, way: Move, source: File, me: usize) -> Role {
        let body = self.copy_of(source, me, None);
        if self.guards.without(Guard::CopyFirst) {
            return self.removes_source(way, source, body);
        }
        let only = if self.guards.without(Guard::TargetIsNew) { If::Nothing } else { If::Absent };
        Copies { source, write: Writing::new(way.to, body, only), way }
    }
}

impl Protocol for RenameFile {
    type Body = File;
    type Role = Role;
    type Record = Record;
    const OLDEST: u8 = 0;

    fn starts(&self) -> Vec<Here> {
        let file = |text| File { text, content: text, origin: 0, bound_by: 0, nonce: 64 + text };
        let one = || Store::new(&[(A, file(1), 0)]);
        let two = || Store::new(&[(A, file(1), 0), (C, file(2), 0)]);
        let renames = |from, to| Reads(Move { from, to });
        let creates = |key, me: usize| {
            let body = File { text: bit(me), content: bit(me), origin: 0, bound_by: 0, nonce: nonce(me, 0) };
            Writes(Writing::new(key, body, If::Absent))
        };
        let repairs = |keep, other| Repairs { keep, other };
        let (a, b, c) = (A, B, C);
        let mut starts: Vec<Here> = vec![
            World::new(one(), [renames(a, b), renames(a, c)], 1, 1),
            World::new(two(), [renames(a, b), renames(c, b)], 1, 1),
            World::new(one(), [renames(a, b), Edits(a), Edits(b)], 1, 1),
            World::new(one(), [renames(a, b), Deletes(a), creates(a, 2)], 1, 0),
            World::new(one(), [renames(a, b), Deletes(b), creates(b, 2)], 1, 0),
            World::new(one(), [renames(a, b), Migrates(a), Migrates(b)], 1, 0),
            World::new(one(), [renames(a, b), repairs(b, a)], 1, 1),
            World::new(one(), [renames(a, b), repairs(a, b)], 1, 0),
            World::new(one(), [renames(a, b), Migrates(a), Edits(b)], 1, 0),
            World::new(one(), [renames(a, b), renames(b, c), renames(c, b), Deletes(a)], 0, 0),
            World::new(one(), [renames(a, b), renames(b, a), renames(a, c)], 0, 0),
        ];
        if self.full {
            starts.extend([
                World::new(one(), [renames(a, b), renames(a, c), Edits(a)], 2, 1),
                World::new(two(), [renames(a, b), renames(c, b), Edits(b), Deletes(a)], 1, 1),
                World::new(one(), [renames(a, b), Edits(a), Edits(b), Migrates(b)], 1, 1),
                World::new(one(), [renames(a, b), Deletes(a), creates(a, 2), Migrates(b)], 1, 1),
                World::new(one(), [renames(a, b), repairs(b, a), Migrates(b), Deletes(a)], 1, 1),
                World::new(one(), [renames(a, b), repairs(a, b), Edits(a)], 1, 1),
                World::new(one(), [renames(a, b), renames(b, a), renames(a, c)], 1, 1),
                World::new(one(), [renames(a, b), renames(b, c), renames(c, b), Deletes(a)], 1, 0),
            ]);
        }
        for world in &mut starts {
            world.record.promised = texts(world).sum();
            for (me, process) in world.processes.iter().enumerate() {
                if matches!(process.role, Deletes(_)) {
                    world.record.deleters |= bit(me);
                }
            }
        }
        starts
    }

    fn request(&self, role: &Role) -> Option<Request<File>> {
        match role {
            Reads(way) => Some(Request::Get(way.from)),
            ReadsAgain { way, .. } => Some(Request::Get(way.from)),
            LooksAtCopy { way, .. } => Some(Request::Get(way.to)),
            LooksAtUndone { key, .. } | Edits(key) | Deletes(key) | Migrates(key) => Some(Request::Get(*key)),
            Repairs { .. } => Some(Request::List),
            Copies { write, .. } | CopiesAgain { write, .. } | Writes(write) | WritesAnew { write, .. } => {
                Some(write.request())
            }
            RemovesSource { removing, .. } | Undoes { removing, .. } | Removes(removing) => {
                Some(removing.request())
            }
            _ => None,
        }
    }

    fn answered(&self, world: &mut Here, me: usize, answer: Answer<File>) -> Role {
        match (world.processes[me].role.clone(), answer) {
            (Reads(way), Answer::Found(Some(found))) => self.begun(way, found.body, me),
            (Reads(_), _) => NotFound,
            (Copies { source, write, way }, answer) => match write.answered(answer) {
                Put::Going(write) => Copies { source, write, way },
                Put::Landed if self.guards.without(Guard::CopyFirst) => Renamed,
                Put::Landed => self.removes_source(way, source, write.body),
                Put::Refused => Exists,
                Put::Unknown => Unknown,
            },
            (RemovesSource { source, copy, removing, way }, answer) => match removing.answered(answer) {
                Removed::Gone if self.guards.without(Guard::CopyFirst) => {
                    Copies { source, write: Writing::new(way.to, copy, If::Absent), way }
                }
                removed => self.source_removed(way, (source, copy), removed),
            },
            (ReadsAgain { source, copy, way }, Answer::Found(found)) => match found {
                Some(Object { body, .. }) => self.copies_again(me, way, (source, body, copy)),
                None => self.gives_up(way, copy),
            },
            (CopiesAgain { older, source, write, way }, answer) => match write.answered(answer) {
                Put::Going(write) => CopiesAgain { older, source, write, way },
                Put::Landed => {
                    world.record.copied_again = true;
                    self.removes_source(way, source, write.body)
                }
                Put::Refused => LooksAtCopy { older, source, way },
                Put::Unknown => Unknown,
            },
            (LooksAtCopy { older, source, way }, Answer::Found(found)) => match found {
                Some(Object { body, .. }) if self.is_ours(body, self.copy_of(older, me, None)) => {
                    self.copies_again(me, way, (older, source, body))
                }
                _ if self.is_bound_again(older, source) => {
                    world.record.bound_again = true;
                    let copy = self.copy_of(older, me, None);
                    self.removes_source(way, source, copy)
                }
                _ => BothKept,
            },
            (Undoes { copy, removing }, answer) => match removing.answered(answer) {
                Removed::Going(removing) => Undoes { copy, removing },
                Removed::Gone => {
                    world.record.undone = true;
                    NotFound
                }
                // Renamed on, or deleted, before we could: that the copy was never there cannot be said any more.
                Removed::Missing { .. } if self.guards.without(Guard::TakenCopyIsTold) => NotFound,
                Removed::Changed { definite: true } => LooksAtUndone { copy, key: removing.key },
                _ => Unknown,
            },
            (LooksAtUndone { copy, key }, Answer::Found(found)) => match found {
                Some(Object { body, .. }) if self.is_ours(body, copy) => self.undoes(key, copy, body),
                Some(_) => BothKept,
                None => Unknown,
            },
            (Edits(key), Answer::Found(Some(Object { body, .. }))) => {
                let text = body.text | bit(me);
                let edited = File { text, content: text, origin: 0, bound_by: 0, nonce: nonce(me, 0) };
                Writes(Writing::new(key, edited, If::Match(body)))
            }
            (Migrates(key), Answer::Found(Some(Object { body, .. }))) => {
                Writes(Writing::new(key, File { nonce: nonce(me, 0), ..body }, If::Match(body)))
            }
            (Writes(write), answer) => match write.answered(answer) {
                Put::Going(write) => Writes(write),
                Put::Landed => {
                    world.record.promised |= write.body.text & bit(me);
                    Acknowledged
                }
                Put::Refused | Put::Unknown => Ended,
            },
            (Deletes(key), Answer::Found(Some(Object { body, .. }))) => {
                Removes(Removing::new(key, If::Match(body)))
            }
            (Removes(removing), answer) => match removing.answered(answer) {
                Removed::Going(removing) => Removes(removing),
                _ => Ended,
            },
            (Repairs { keep, other }, Answer::Listed(there)) => match (there[keep], there[other]) {
                (Some(kept), Some(older)) if kept.body.content == older.body.content => {
                    let older = older.body;
                    if self.guards.without(Guard::RepairWritesAnew) {
                        return Removes(Removing::new(other, If::Match(older)));
                    }
                    let origin = if self.guards.without(Guard::RepairStampsOrigin) {
                        kept.body.origin
                    } else {
                        me as u8 + 1
                    };
                    let anew = File { origin, bound_by: me as u8 + 1, nonce: nonce(me, 0), ..kept.body };
                    WritesAnew { write: Writing::new(keep, anew, If::Match(kept.body)), other, older }
                }
                _ => Ended,
            },
            (WritesAnew { write, other, older }, answer) => match write.answered(answer) {
                Put::Going(write) => WritesAnew { write, other, older },
                Put::Landed => {
                    world.record.repaired = true;
                    Removes(Removing::new(other, If::Match(older)))
                }
                Put::Refused | Put::Unknown => Ended,
            },
            (Edits(_) | Migrates(_) | Deletes(_) | Repairs { .. }, _) => Ended,
            _ => Unknown,
        }
    }

    fn executed(&self, world: &mut Here, what: Executed<File>) {
        if what.answer != Answer::Done {
            return;
        }
        let was_told =
            matches!(world.processes[what.by].role, Renamed | NotFound | Exists | Acknowledged | Ended);
        let is_undo = matches!(world.processes[what.by].role, Undoes { .. });
        let is_anothers = what.before.is_some_and(|file| file.bound_by != what.by as u8 + 1);
        let record = &mut world.record;
        match what.request {
            Request::Remove { .. } if is_undo && !what.is_late => record.took_anothers |= is_anothers,
            Request::Put { body, only, .. } => {
                let landing = 1 << body.nonce;
                let is_out_of_time = only == If::Absent && what.is_late && was_told;
                record.created_twice |= is_out_of_time || record.landed & landing != 0;
                record.landed |= landing;
            }
            Request::Remove { .. } if record.deleters & bit(what.by) != 0 => {
                record.deleted |= what.before.map_or(0, |file| file.text);
            }
            _ => {}
        }
    }

    fn is_time_passing(&self, _world: &Here) -> bool {
        false
    }

    fn properties() -> Vec<Property<Exploration<Self>>> {
        vec![
            Property::always("no acknowledged text is lost", |_, world: &Here| {
                let kept = texts(world).fold(world.record.deleted, |all, text| all | text);
                world.record.promised & !kept == 0
            }),
            Property::always("no file is left at two places without a word", |_, world: &Here| {
                let is_doubled = |text: u8| texts(world).filter(|&there| there & text != 0).count() > 1;
                let says_so = |role: &Role| matches!(role, Unknown | BothKept);
                let is_excused = world.record.created_twice
                    || world.processes.iter().any(|process| !process.is_alive || says_so(&process.role));
                is_excused || !has_ended(world) || !(is_doubled(1) || is_doubled(2))
            }),
            Property::always("a rename that failed leaves no copy", |_, world: &Here| {
                let left = |me: usize| {
                    PLACES
                        .iter()
                        .any(|&key| world.store.body(key).is_some_and(|file| file.bound_by == me as u8 + 1))
                };
                let failed = |me: usize| matches!(world.processes[me].role, NotFound | Exists);
                world.record.created_twice || !(0..world.processes.len()).any(|me| failed(me) && left(me))
            }),
            Property::always("a rename takes back its own copy only", |_, world: &Here| {
                !world.record.took_anothers
            }),
            Property::sometimes("one of two renames wins and the other is undone", |_, world: &Here| {
                world.record.undone && is(world, Renamed) && is(world, NotFound)
            }),
            Property::sometimes("an edit meanwhile moves along", |_, world: &Here| {
                world.record.copied_again && is(world, Renamed)
            }),
            Property::sometimes(
                "a copy that was edited outlives a source that was migrated",
                |_, world: &Here| world.record.bound_again && is(world, Renamed) && is(world, Acknowledged),
            ),
            Property::sometimes("both places are kept", |_, world: &Here| is(world, BothKept)),
            Property::sometimes("a repair removes one of two places", |_, world: &Here| {
                world.record.repaired && has_ended(world) && texts(world).count() == 1
            }),
        ]
    }
}

fn texts(world: &Here) -> impl Iterator<Item = u8> {
    PLACES.iter().filter_map(|&key| world.store.body(key)).map(|file| file.text)
}

fn is(world: &Here, role: Role) -> bool {
    world.processes.iter().any(|process| process.role == role)
}

/// Nothing is on its way any more.
fn has_ended(world: &Here) -> bool {
    world.late.is_empty()
        && world.processes.iter().all(|process| {
            matches!(process.role, Renamed | NotFound | Exists | BothKept | Acknowledged | Ended | Unknown)
        })
}
