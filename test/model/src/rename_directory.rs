//! The rename of a directory (docs/protocols.md, "Rename of a directory"): a register with a lease, copies, a look for
//! clashes, and from `moving` on only forward. Two files at most, taken one after the other.
//!
//! An owner carries it out; takers wait for its lease to run out and go on from the phase that the register names. The
//! owner may be frozen at any request, and its requests may arrive after others have gone on. Users edit, delete and
//! create files in source and target.

use crate::confirm::{Put, Removed, Removing, Writing};
use crate::guards::{Guard, Guards};
use crate::store::{Answer, If, Key, Object, Request, Slots, Store, Version};
use crate::world::{Executed, Exploration, Protocol, World, WorldOf};
use stateright::Property;

/// Ticks after which the owner writes the register again before its next request: 3 s.
const RENEW: u8 = 1;
/// Ticks after which anybody may take it over: 10 s.
const LEASE: u8 = 1;
/// How often an owner may write the register in this model.
const REGISTER_WRITES: u8 = 4;
const LATE_ROUNDS: u8 = 1;
const COPY_ROUNDS: u8 = 2;

const REGISTER: Key = 0;
const SOURCES: [Key; 2] = [1, 2];
const TARGETS: [Key; 2] = [3, 4];
/// The origin of the rename's copies.
const RENAME: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    Idle,
    Copying,
    Moving,
    Aborting,
}
use Phase::{Aborting, Copying, Idle, Moving};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct File {
    /// What has gone into the text: 1 and 2 what was there at first, and a bit for each process that has written.
    text: u8,
    content: u8,
    origin: u8,
    nonce: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Body {
    Register { phase: Phase, owner: u8, nth: u8 },
    File(File),
}
use Body::Register;

impl Version for Body {}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Role {
    Owner(Box<Owner>),
    /// Waits for the lease of a rename to run out.
    Waits,
    Renamed {
        both_kept: bool,
    },
    Refused {
        both_kept: bool,
    },
    Edits(Key),
    Deletes(Key),
    Writes(Writing<Body>),
    Removes(Removing<Body>),
    Acknowledged,
    Ended,
    Unknown,
}
use Role::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Copied {
    source: File,
    copy: File,
}

/// One process's work on the rename, and the version of the register that it holds.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Owner {
    register: Body,
    phase: Phase,
    taken_over: bool,
    /// Files still to be copied, by bit.
    todo: u8,
    copied: [Option<Copied>; 2],
    /// Kept at both places; left alone from then on.
    kept: u8,
    late_rounds: u8,
    copies_again: u8,
    writes: u8,
    step: Step,
    /// The register is written again before `step`.
    renewal: Option<Writing<Body>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Lists,
    Reads(usize),
    Copies(usize, File, Writing<Body>),
    LooksAtCopy(usize, File),
    Checks,
    UndoesOrphan(Removing<Body>),
    /// Writes the register.
    Enters(Phase, Writing<Body>),
    DeletesSource(usize, Removing<Body>),
    ReadsAgain(usize),
    CopiesAgain(usize, File, Writing<Body>),
    /// A user has deleted the source.
    UndoesCopy(usize, Removing<Body>),
    FindsCopies,
    TakesBack(Removing<Body>),
    ListsLate,
}
use Step::*;

#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Record {
    promised: u8,
    deleters: u8,
    deleted: u8,
    landed: u64,
    created_twice: bool,
    taken_over: [bool; 4],
    late_followed: bool,
    target_was_there: bool,
}

pub struct RenameDirectory {
    pub guards: Guards,
    pub full: bool,
}

type Here = WorldOf<RenameDirectory>;

fn nonce(me: usize, nth: u8) -> u8 {
    me as u8 * 16 + nth
}

fn bit(me: usize) -> u8 {
    4 << me
}

fn file_in(slots: &Slots<Body>, key: Key) -> Option<File> {
    match slots[key] {
        Some(Object { body: Body::File(file), .. }) => Some(file),
        _ => None,
    }
}

impl RenameDirectory {
    /// Before its next request the owner makes sure that the register is still its own: src/tree/rename/lease.ts.
    fn goes(&self, world: &mut Here, me: usize, mut owner: Owner, step: Step) -> Role {
        owner.step = step;
        let is_due = world.processes[me].age >= RENEW && !self.guards.without(Guard::RenewBeforeRequest);
        if is_due && !matches!(step, Enters(..)) {
            if owner.writes == REGISTER_WRITES {
                return Unknown;
            }
            owner.renewal = Some(self.register_write(world, me, &mut owner, |phase| phase));
        }
        Owner(Box::new(owner))
    }

    fn register_write(
        &self,
        world: &mut Here,
        me: usize,
        owner: &mut Owner,
        phase: impl Fn(Phase) -> Phase,
    ) -> Writing<Body> {
        owner.writes += 1;
        world.processes[me].age = 0;
        let body = Register { phase: phase(owner.phase), owner: me as u8, nth: owner.writes };
        let is_blind = self.guards.without(Guard::RegisterIfMatch);
        Writing::new(REGISTER, body, if is_blind { If::Nothing } else { If::Match(owner.register) })
    }

    fn enters(&self, world: &mut Here, me: usize, mut owner: Owner, phase: Phase) -> Role {
        let is_skipped = match phase {
            Aborting => self.guards.without(Guard::AbortingPhase),
            Moving => self.guards.without(Guard::MovingPhase),
            _ => false,
        };
        if is_skipped {
            return self.entered(world, me, owner, phase);
        }
        let write = self.register_write(world, me, &mut owner, |_| phase);
        owner.step = Enters(phase, write);
        Owner(Box::new(owner))
    }

    fn entered(&self, world: &mut Here, me: usize, mut owner: Owner, phase: Phase) -> Role {
        match phase {
            Idle => {
                let both_kept = owner.kept != 0;
                if owner.phase == Aborting { Refused { both_kept } } else { Renamed { both_kept } }
            }
            Copying => self.goes(world, me, owner, Lists),
            Moving => {
                if !self.guards.without(Guard::MovingPhase) {
                    owner.phase = Moving;
                }
                self.deletes_next(world, me, owner)
            }
            Aborting => {
                owner.phase = Aborting;
                self.goes(world, me, owner, FindsCopies)
            }
        }
    }

    fn copies_next(&self, world: &mut Here, me: usize, owner: Owner) -> Role {
        let next = (0..2).find(|&at| owner.todo & (1 << at) != 0);
        match next {
            Some(at) => self.goes(world, me, owner, Reads(at)),
            None if owner.phase == Copying && self.guards.without(Guard::LookForClashes) => {
                self.enters(world, me, owner, Moving)
            }
            None if owner.phase == Copying => self.goes(world, me, owner, Checks),
            None => self.deletes_next(world, me, owner),
        }
    }

    fn copied(
        &self,
        world: &mut Here,
        me: usize,
        mut owner: Owner,
        at: usize,
        copied: Option<Copied>,
    ) -> Role {
        owner.todo &= !(1 << at);
        owner.copied[at] = copied;
        self.copies_next(world, me, owner)
    }

    fn copies(
        &self,
        world: &mut Here,
        me: usize,
        owner: Owner,
        at: usize,
        source: File,
        over: Option<File>,
    ) -> Role {
        let nth = (owner.copies_again * 4 + at as u8 * 2 + over.is_some() as u8).min(15);
        let copy = File { origin: RENAME, nonce: nonce(me, nth), ..source };
        let only = match over {
            None => If::Absent,
            Some(_) if self.guards.without(Guard::CopyOverUnchangedCopy) => If::Nothing,
            Some(older) => If::Match(Body::File(older)),
        };
        let write = Writing::new(TARGETS[at], Body::File(copy), only);
        let is_again = owner.copied[at].is_some();
        let step = if is_again { CopiesAgain(at, source, write) } else { Copies(at, source, write) };
        self.goes(world, me, owner, step)
    }

    fn looked_at_copy(
        &self,
        world: &mut Here,
        me: usize,
        mut owner: Owner,
        (at, source, found): (usize, File, Option<File>),
    ) -> Role {
        let Some(earlier) = found else { return self.goes(world, me, owner, Reads(at)) };
        let is_ours = earlier.origin == RENAME || self.guards.without(Guard::CopyByOrigin);
        if is_ours && earlier.content == source.content {
            return self.copied(world, me, owner, at, Some(Copied { source, copy: earlier }));
        }
        if is_ours && (owner.phase == Copying || self.guards.without(Guard::MovingKeepsCopies)) {
            return self.copies(world, me, owner, at, source, Some(earlier));
        }
        if owner.phase == Copying {
            return self.enters(world, me, owner, Aborting);
        }
        owner.kept |= 1 << at;
        self.copied(world, me, owner, at, None)
    }

    fn checked(&self, world: &mut Here, me: usize, owner: Owner, there: &Slots<Body>) -> Role {
        let others = (0..2).filter(|&at| owner.copied[at].is_none());
        let found: Vec<_> =
            others.filter_map(|at| file_in(there, TARGETS[at]).map(|file| (at, file))).collect();
        let is_empty = owner.copied.iter().all(Option::is_none);
        if is_empty || found.iter().any(|(_, file)| file.origin != RENAME) {
            return self.enters(world, me, owner, Aborting);
        }
        match found.first() {
            Some(&(at, orphan)) => {
                let removing = Removing::new(TARGETS[at], If::Match(Body::File(orphan)));
                self.goes(world, me, owner, UndoesOrphan(removing))
            }
            None => self.enters(world, me, owner, Moving),
        }
    }

    fn deletes_next(&self, world: &mut Here, me: usize, owner: Owner) -> Role {
        let next = (0..2).find_map(|at| owner.copied[at].map(|copied| (at, copied)));
        match next {
            Some((at, Copied { source, .. })) => {
                let is_blind = self.guards.without(Guard::SourcesAsCopied);
                let only = if is_blind { If::Nothing } else { If::Match(Body::File(source)) };
                self.goes(world, me, owner, DeletesSource(at, Removing::new(SOURCES[at], only)))
            }
            None => self.goes(world, me, owner, ListsLate),
        }
    }

    fn settled(&self, world: &mut Here, me: usize, mut owner: Owner, at: usize) -> Role {
        owner.copied[at] = None;
        self.deletes_next(world, me, owner)
    }

    fn undoes_copy(&self, world: &mut Here, me: usize, owner: Owner, at: usize) -> Role {
        let Some(Copied { copy, .. }) = owner.copied[at] else { return Unknown };
        let is_blind = self.guards.without(Guard::UnchangedCopiesOnly);
        let only = if is_blind { If::Nothing } else { If::Match(Body::File(copy)) };
        self.goes(world, me, owner, UndoesCopy(at, Removing::new(TARGETS[at], only)))
    }

    fn deleted(
        &self,
        world: &mut Here,
        me: usize,
        mut owner: Owner,
        at: usize,
        removed: Removed<Body>,
    ) -> Role {
        let is_anybodys = owner.taken_over && !self.guards.without(Guard::TakeoverKeepsCopies);
        let ignores_resends = self.guards.without(Guard::ResentDeleteIsOurs);
        let ignores_changes = self.guards.without(Guard::ResentChangeIsNoEdit);
        match removed {
            Removed::Going(removing) => {
                owner.step = DeletesSource(at, removing);
                Owner(Box::new(owner))
            }
            Removed::Missing { definite } if (definite || ignores_resends) && !is_anybodys => {
                self.undoes_copy(world, me, owner, at)
            }
            Removed::Changed { definite }
                if (definite || ignores_changes) && owner.copies_again < COPY_ROUNDS =>
            {
                self.goes(world, me, owner, ReadsAgain(at))
            }
            Removed::Changed { .. } | Removed::Unknown => {
                owner.kept |= 1 << at;
                self.settled(world, me, owner, at)
            }
            Removed::Gone | Removed::Missing { .. } => self.settled(world, me, owner, at),
        }
    }

    fn listed_late(&self, world: &mut Here, me: usize, mut owner: Owner, there: &Slots<Body>) -> Role {
        let todo = (0..2)
            .filter(|&at| file_in(there, SOURCES[at]).is_some() && owner.kept & (1 << at) == 0)
            .fold(0, |todo, at| todo | 1 << at);
        if todo == 0 || owner.late_rounds == LATE_ROUNDS {
            owner.kept |= todo;
            return self.enters(world, me, owner, Idle);
        }
        owner.late_rounds += 1;
        owner.todo = todo;
        world.record.late_followed = true;
        self.copies_next(world, me, owner)
    }

    fn took_over(&self, world: &mut Here, me: usize, owner: Owner) -> Role {
        world.record.taken_over[owner.phase as usize] = true;
        match owner.phase {
            Aborting => self.goes(world, me, owner, FindsCopies),
            _ => self.goes(world, me, owner, Lists),
        }
    }

    fn waited(&self, world: &mut Here, me: usize, found: Option<Object<Body>>) -> Role {
        match found {
            Some(Object { body: register @ Register { phase, .. }, age }) if phase != Idle => {
                let is_over = age > LEASE || self.guards.without(Guard::TakeoverAfterLease);
                if !is_over {
                    return Waits;
                }
                let mut owner = new_owner(register, phase);
                owner.taken_over = true;
                let write = self.register_write(world, me, &mut owner, |phase| phase);
                owner.renewal = Some(write);
                Owner(Box::new(owner))
            }
            _ => Waits,
        }
    }

    fn owner_answered(&self, world: &mut Here, me: usize, mut owner: Owner, answer: Answer<Body>) -> Role {
        if let Some(write) = owner.renewal {
            let is_takeover = owner.taken_over && owner.writes == 1;
            return match write.answered(answer) {
                Put::Going(write) => {
                    owner.renewal = Some(write);
                    Owner(Box::new(owner))
                }
                Put::Landed => {
                    if self.guards.without(Guard::LeaseFromSend) {
                        world.processes[me].age = 0;
                    }
                    owner.register = write.body;
                    owner.renewal = None;
                    if is_takeover {
                        self.took_over(world, me, owner)
                    } else {
                        self.goes(world, me, owner.clone(), owner.step)
                    }
                }
                Put::Refused if is_takeover => Waits,
                Put::Refused | Put::Unknown => Unknown,
            };
        }
        match (owner.step, answer) {
            (Enters(phase, write), answer) => match write.answered(answer) {
                Put::Going(write) => {
                    owner.step = Enters(phase, write);
                    Owner(Box::new(owner))
                }
                Put::Landed => {
                    if self.guards.without(Guard::LeaseFromSend) {
                        world.processes[me].age = 0;
                    }
                    owner.register = write.body;
                    self.entered(world, me, owner, phase)
                }
                Put::Refused | Put::Unknown => Unknown,
            },
            (Lists, Answer::Listed(there)) => {
                owner.todo = (0..2)
                    .filter(|&at| file_in(&there, SOURCES[at]).is_some())
                    .fold(0, |all, at| all | 1 << at);
                self.copies_next(world, me, owner)
            }
            (Reads(at), Answer::Found(Some(Object { body: Body::File(source), .. }))) => {
                self.copies(world, me, owner, at, source, None)
            }
            (Reads(at), Answer::Found(_)) => self.copied(world, me, owner, at, None),
            (Copies(at, source, write), answer) => match (write.answered(answer), write.body) {
                (Put::Going(write), _) => {
                    owner.step = Copies(at, source, write);
                    Owner(Box::new(owner))
                }
                (Put::Landed, Body::File(copy)) => {
                    self.copied(world, me, owner, at, Some(Copied { source, copy }))
                }
                (Put::Refused, _) => self.goes(world, me, owner, LooksAtCopy(at, source)),
                _ => Unknown,
            },
            (LooksAtCopy(at, source), Answer::Found(found)) => {
                let file = found.and_then(|object| match object.body {
                    Body::File(file) => Some(file),
                    _ => None,
                });
                self.looked_at_copy(world, me, owner, (at, source, file))
            }
            (Checks, Answer::Listed(there)) => self.checked(world, me, owner, &there),
            (UndoesOrphan(removing), answer) => match removing.answered(answer) {
                Removed::Going(removing) => {
                    owner.step = UndoesOrphan(removing);
                    Owner(Box::new(owner))
                }
                Removed::Unknown => Unknown,
                _ => self.goes(world, me, owner, Checks),
            },
            (DeletesSource(at, removing), answer) => {
                self.deleted(world, me, owner, at, removing.answered(answer))
            }
            (ReadsAgain(at), Answer::Found(found)) => match (found, owner.copied[at]) {
                (Some(Object { body: Body::File(source), .. }), Some(Copied { copy, .. })) => {
                    owner.copies_again += 1;
                    self.copies(world, me, owner, at, source, Some(copy))
                }
                _ => self.undoes_copy(world, me, owner, at),
            },
            (CopiesAgain(at, source, write), answer) => match (write.answered(answer), write.body) {
                (Put::Going(write), _) => {
                    owner.step = CopiesAgain(at, source, write);
                    Owner(Box::new(owner))
                }
                (Put::Landed, Body::File(copy)) => {
                    // Nobody before the takeover can have known this version.
                    owner.taken_over = false;
                    owner.copied[at] = Some(Copied { source, copy });
                    self.deletes_next(world, me, owner)
                }
                (Put::Refused, _) => {
                    owner.kept |= 1 << at;
                    self.settled(world, me, owner, at)
                }
                _ => Unknown,
            },
            (UndoesCopy(at, removing), answer) => match removing.answered(answer) {
                Removed::Going(removing) => {
                    owner.step = UndoesCopy(at, removing);
                    Owner(Box::new(owner))
                }
                Removed::Unknown => Unknown,
                _ => self.settled(world, me, owner, at),
            },
            (FindsCopies, Answer::Listed(there)) => self.found_copies(world, me, owner, &there),
            (TakesBack(removing), answer) => match removing.answered(answer) {
                Removed::Going(removing) => {
                    owner.step = TakesBack(removing);
                    Owner(Box::new(owner))
                }
                Removed::Unknown => Unknown,
                _ => self.goes(world, me, owner, FindsCopies),
            },
            (ListsLate, Answer::Listed(there)) => self.listed_late(world, me, owner, &there),
            _ => Unknown,
        }
    }

    fn found_copies(&self, world: &mut Here, me: usize, mut owner: Owner, there: &Slots<Body>) -> Role {
        for at in 0..2 {
            let found = file_in(there, TARGETS[at]);
            let is_built_on = owner.copied[at].is_some() && found.is_some_and(|file| file.origin != RENAME);
            if is_built_on {
                owner.kept |= 1 << at;
            }
            let Some(copy) = found.filter(|file| file.origin == RENAME) else { continue };
            return self.goes(
                world,
                me,
                owner,
                TakesBack(Removing::new(TARGETS[at], If::Match(Body::File(copy)))),
            );
        }
        self.enters(world, me, owner, Idle)
    }
}

fn new_owner(register: Body, phase: Phase) -> Owner {
    Owner {
        register,
        phase,
        taken_over: false,
        todo: 0,
        copied: [None; 2],
        kept: 0,
        late_rounds: 0,
        copies_again: 0,
        writes: 0,
        step: Lists,
        renewal: None,
    }
}

impl Protocol for RenameDirectory {
    type Body = Body;
    type Role = Role;
    type Record = Record;
    const OLDEST: u8 = LEASE + 1;

    fn starts(&self) -> Vec<Here> {
        let idle = Register { phase: Idle, owner: 15, nth: 0 };
        let file = |text| Body::File(File { text, content: text, origin: 0, nonce: 60 + text });
        let one = || Store::new(&[(REGISTER, idle, 0), (SOURCES[0], file(1), 0)]);
        let two = || Store::new(&[(REGISTER, idle, 0), (SOURCES[0], file(1), 0), (SOURCES[1], file(2), 0)]);
        let taken = || Store::new(&[(REGISTER, idle, 0), (SOURCES[0], file(1), 0), (TARGETS[1], file(2), 0)]);
        let owner = || {
            let mut owner = new_owner(idle, Copying);
            owner.writes = 1;
            let body = Register { phase: Copying, owner: 0, nth: 1 };
            owner.step = Enters(Copying, Writing::new(REGISTER, body, If::Match(idle)));
            Owner(Box::new(owner))
        };
        let creates = |key, me: usize| {
            let body = File { text: bit(me), content: bit(me), origin: 0, nonce: nonce(me, 0) };
            Writes(Writing::new(key, Body::File(body), If::Absent))
        };
        let [s1, s2] = SOURCES;
        let [t1, t2] = TARGETS;
        let mut starts: Vec<Here> = vec![
            World::new(one(), [owner(), Waits], 0, 1),
            World::new(one(), [owner(), Waits, Edits(s1)], 0, 0),
            World::new(one(), [owner(), Waits, Edits(t1)], 0, 0),
            World::new(one(), [owner(), Waits, Deletes(s1)], 0, 0),
            World::new(one(), [owner(), Deletes(s1), creates(s1, 2)], 1, 0),
            World::new(one(), [owner(), Waits, creates(t2, 2)], 0, 0),
            World::new(one(), [owner(), Waits, creates(s2, 2)], 0, 0),
            World::new(one(), [owner(), Edits(s1), Edits(t1)], 0, 0),
            World::new(taken(), [owner(), Waits, Deletes(t2)], 0, 1),
        ];
        if self.full || !self.guards.are_whole() {
            starts.push(World::new(one(), [owner(), Waits], 1, 0));
        }
        if self.full {
            starts.extend([
                World::new(two(), [owner(), Waits], 0, 1),
                World::new(one(), [owner(), Waits, Edits(s1)], 0, 1),
                World::new(one(), [owner(), Waits, Edits(t1)], 0, 1),
                World::new(one(), [owner(), Waits, Deletes(s1)], 0, 1),
                World::new(one(), [owner(), Waits, creates(t2, 2)], 0, 1),
                World::new(one(), [owner(), Waits, creates(s2, 2)], 0, 1),
                World::new(one(), [owner(), Deletes(s1), creates(s1, 2), Edits(t1)], 1, 0),
            ]);
        }
        for world in &mut starts {
            world.record.target_was_there = file_in(&world.store.slots, TARGETS[1]).is_some();
            world.record.promised = texts(world, SOURCES).chain(texts(world, TARGETS)).sum();
            for (me, process) in world.processes.iter().enumerate() {
                if matches!(process.role, Deletes(_)) {
                    world.record.deleters |= bit(me);
                }
            }
        }
        starts
    }

    fn request(&self, role: &Role) -> Option<Request<Body>> {
        match role {
            Owner(owner) => Some(match (owner.renewal, owner.step) {
                (Some(write), _) => write.request(),
                (None, Lists | Checks | FindsCopies | ListsLate) => Request::List,
                (None, Reads(at) | ReadsAgain(at)) => Request::Get(SOURCES[at]),
                (None, LooksAtCopy(at, _)) => Request::Get(TARGETS[at]),
                (None, Copies(_, _, write) | CopiesAgain(_, _, write) | Enters(_, write)) => write.request(),
                (None, UndoesOrphan(removing) | DeletesSource(_, removing)) => removing.request(),
                (None, UndoesCopy(_, removing) | TakesBack(removing)) => removing.request(),
            }),
            Waits => Some(Request::Get(REGISTER)),
            Edits(key) | Deletes(key) => Some(Request::Get(*key)),
            Writes(write) => Some(write.request()),
            Removes(removing) => Some(removing.request()),
            _ => None,
        }
    }

    fn answered(&self, world: &mut Here, me: usize, answer: Answer<Body>) -> Role {
        match (world.processes[me].role.clone(), answer) {
            (Owner(owner), answer) => self.owner_answered(world, me, *owner, answer),
            (Waits, Answer::Found(found)) => self.waited(world, me, found),
            (Waits, _) => Waits,
            (Edits(key), Answer::Found(Some(Object { body: seen @ Body::File(file), .. }))) => {
                let text = file.text | bit(me);
                let edited = File { text, content: text, origin: 0, nonce: nonce(me, 0) };
                Writes(Writing::new(key, Body::File(edited), If::Match(seen)))
            }
            (Deletes(key), Answer::Found(Some(Object { body, .. }))) => {
                Removes(Removing::new(key, If::Match(body)))
            }
            (Writes(write), answer) => match (write.answered(answer), write.body) {
                (Put::Going(write), _) => Writes(write),
                (Put::Landed, Body::File(file)) => {
                    world.record.promised |= file.text & bit(me);
                    Acknowledged
                }
                _ => Ended,
            },
            (Removes(removing), answer) => match removing.answered(answer) {
                Removed::Going(removing) => Removes(removing),
                _ => Ended,
            },
            _ => Ended,
        }
    }

    fn executed(&self, world: &mut Here, what: Executed<Body>) {
        if what.answer != Answer::Done {
            return;
        }
        let record = &mut world.record;
        match (what.request, what.before) {
            (Request::Put { body: Body::File(file), only, .. }, _) => {
                let landing = 1u64 << file.nonce;
                record.created_twice |= record.landed & landing != 0 || only == If::Absent && what.is_late;
                record.landed |= landing;
            }
            (Request::Remove { .. }, Some(Body::File(file))) if record.deleters & bit(what.by) != 0 => {
                record.deleted |= file.text;
            }
            _ => {}
        }
    }

    /// Bounds concern whoever still waits for the lease to run out.
    fn is_time_passing(&self, world: &Here) -> bool {
        world.processes.iter().any(|process| process.role == Waits)
    }

    /// A copy that would arrive after the lease it was sent under is not sent, or does not arrive.
    fn life(&self, request: &Request<Body>) -> Option<u8> {
        let is_copy = |file: File| file.origin == RENAME;
        match *request {
            Request::Put { body: Body::File(file), only: If::Absent, .. } if is_copy(file) => {
                (!self.guards.without(Guard::CopiesArriveInLease)).then_some(LEASE)
            }
            _ => None,
        }
    }

    fn is_timed(&self, role: &Role) -> bool {
        matches!(role, Owner(_))
    }

    fn is_dated(&self, body: &Body) -> bool {
        matches!(body, Register { phase, .. } if *phase != Idle)
    }

    fn has_blind_clocks(&self) -> bool {
        self.guards.without(Guard::LeaseByBothClocks)
    }

    fn properties() -> Vec<Property<Exploration<Self>>> {
        vec![
            Property::always("no acknowledged text is lost", |_, world: &Here| {
                let places = [SOURCES[0], SOURCES[1], TARGETS[0], TARGETS[1]];
                let kept = texts(world, places).fold(world.record.deleted, |all, text| all | text);
                world.record.promised & !kept == 0
            }),
            Property::always("no file is left at two places without a word", |_, world: &Here| {
                let is_doubled = |at: usize| {
                    let [source, target] =
                        [SOURCES[at], TARGETS[at]].map(|key| file_in(&world.store.slots, key));
                    // A takeover cannot know which of two places a user has changed, and keeps both.
                    let differ =
                        |here: File, there: File| here.content != there.content && is_taken_over(world);
                    source
                        .zip(target)
                        .is_some_and(|(here, there)| here.text & there.text != 0 && !differ(here, there))
                };
                is_excused(world) || !has_ended(world) || !(is_doubled(0) || is_doubled(1))
            }),
            Property::always("what a user deleted stays deleted", |_, world: &Here| {
                // A copy that a user has edited is that user's file, and stays.
                let is_back = |&key: &Key| {
                    file_in(&world.store.slots, key)
                        .is_some_and(|file| file.origin == RENAME && file.text & world.record.deleted != 0)
                };
                is_excused(world)
                    || is_taken_over(world)
                    || world.faults == 0
                    || !has_ended(world)
                    || !TARGETS.iter().any(is_back)
            }),
            Property::always("a rename that was refused leaves no copy", |_, world: &Here| {
                let is_copy =
                    |key: Key| file_in(&world.store.slots, key).is_some_and(|file| file.origin == RENAME);
                let is_refused = world.processes.iter().any(|process| matches!(process.role, Refused { .. }));
                world.record.created_twice || !is_refused || !TARGETS.iter().any(|&key| is_copy(key))
            }),
            Property::always("a target that is taken stays as it is", |_, world: &Here| {
                let stays = file_in(&world.store.slots, TARGETS[1]).is_some_and(|file| file.text == 2);
                !(world.record.target_was_there && stays && is_renamed(world))
            }),
            Property::sometimes("a directory is renamed", |_, world: &Here| {
                let is_there = |key: Key| file_in(&world.store.slots, key).is_some();
                is_renamed(world) && !is_there(SOURCES[0]) && is_there(TARGETS[0])
            }),
            Property::sometimes("a rename is taken over in copying and finished", |_, world: &Here| {
                world.record.taken_over[Copying as usize] && is_renamed(world)
            }),
            Property::sometimes("a rename is taken over in moving and finished", |_, world: &Here| {
                world.record.taken_over[Moving as usize] && is_renamed(world)
            }),
            Property::sometimes("a rename is taken over in aborting and finished", |_, world: &Here| {
                world.record.taken_over[Aborting as usize] && has_ended(world)
            }),
            Property::sometimes("a late file follows", |_, world: &Here| {
                world.record.late_followed
                    && is_renamed(world)
                    && file_in(&world.store.slots, TARGETS[1]).is_some()
            }),
        ]
    }
}

fn texts(world: &Here, keys: impl IntoIterator<Item = Key>) -> impl Iterator<Item = u8> {
    keys.into_iter().filter_map(|key| file_in(&world.store.slots, key)).map(|file| file.text)
}

fn is_renamed(world: &Here) -> bool {
    world.processes.iter().any(|process| matches!(process.role, Renamed { .. }))
}

/// A network that executed a create late, or an answer that says that both places may be kept.
fn is_excused(world: &Here) -> bool {
    let says_so =
        |role: &Role| matches!(role, Unknown | Renamed { both_kept: true } | Refused { both_kept: true });
    world.record.created_twice || world.processes.iter().any(|process| says_so(&process.role))
}

fn is_taken_over(world: &Here) -> bool {
    world.record.taken_over != [false; 4]
}

/// No rename is under way, and nothing else is.
fn has_ended(world: &Here) -> bool {
    let is_idle = matches!(world.store.body(REGISTER), Some(Register { phase: Idle, .. }));
    let waits = |role: &Role| {
        matches!(role, Waits | Renamed { .. } | Refused { .. } | Acknowledged | Ended | Unknown)
    };
    is_idle
        && world.late.is_empty()
        && world.processes.iter().all(|process| !process.is_alive || waits(&process.role))
}
