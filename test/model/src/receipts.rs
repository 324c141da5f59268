//! Receipts of turns (docs/protocols.md, "Receipts of turns"): a queue delivers a message at least once, and to more
//! than one worker at a time. Each worker here is one delivery. A migration binds the receipt anew meanwhile.

use crate::confirm::{Put, Writing};
use crate::guards::{Guard, Guards};
use crate::store::{Answer, If, Key, Object, Request, Store, Version};
use crate::world::{Executed, Exploration, Protocol, World, WorldOf};
use stateright::Property;

/// Ticks that a worker may run a turn: until the end of its function, and 30 s.
const LEASE: u8 = 1;
const RECEIPT: Key = 0;
const ANSWER: Key = 1;
/// Steps that a turn has before its answer. None is saved in a finished receipt.
const STEPS: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Running,
    Free,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Body {
    /// `owner` is the worker's random name; `bound` is who wrote this version; `step` is how far the turn came.
    Receipt {
        state: State,
        owner: usize,
        bound: usize,
        step: u8,
    },
    Stored {
        by: usize,
    },
}
use Body::{Receipt, Stored};

impl Version for Body {}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Role {
    Claims(Writing<Body>),
    Looks,
    TakesOver(Writing<Body>),
    LooksForAnswer {
        receipt: Body,
    },
    Runs {
        receipt: Body,
    },
    /// Keeps how far the turn came, in its own receipt.
    Saves(Writing<Body>),
    LooksAtSaved {
        step: u8,
    },
    Stores {
        receipt: Body,
        write: Writing<Body>,
    },
    ReadsFirst {
        receipt: Body,
    },
    Closes {
        answer: usize,
        write: Writing<Body>,
    },
    LooksAtOwn {
        answer: usize,
    },
    /// Without the guard the receipt is closed first.
    StoresAfter(Writing<Body>),
    ReadsAnswer,
    /// The reply is sent, then the message is deleted.
    Replied {
        answer: usize,
    },
    Frees(Writing<Body>),
    /// The message goes back to the queue.
    Later,
    TakenOver,
    Migrates,
    Rebinds(Writing<Body>),
    Ended,
    Unknown,
}
use Role::*;

#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Record {
    was_done: bool,
    ran_when_done: bool,
    ran_past_answer: bool,
    ran_together: bool,
    /// Whether an answer was there when a worker took the turn over.
    answer_at_claim: [bool; 4],
    claimed: u8,
    was_freed: bool,
    /// The furthest step that was ever kept, and whether a receipt has forgotten it since.
    kept: u8,
    was_lost: bool,
    went_on: bool,
}

pub struct Receipts {
    pub guards: Guards,
    pub full: bool,
}

type Here = WorldOf<Receipts>;

impl Receipts {
    fn claims(&self, world: &mut Here, me: usize, base: Option<Body>) -> Writing<Body> {
        world.processes[me].age = 0;
        let step = match base {
            Some(Receipt { step, .. }) if !self.guards.without(Guard::TakeoverKeepsStep) => step,
            _ => 0,
        };
        let body = Receipt { state: State::Running, owner: me, bound: me, step };
        let only = match base {
            None if self.guards.without(Guard::ClaimCreates) => If::Nothing,
            Some(_) if self.guards.without(Guard::ClaimTakesOverIfMatch) => If::Nothing,
            None => If::Absent,
            Some(base) => If::Match(base),
        };
        Writing::new(RECEIPT, body, only)
    }

    fn runs(&self, world: &mut Here, me: usize, receipt: Body) -> Role {
        // The function's time is up before its lease is: a worker that was frozen does not begin any more.
        if world.processes[me].age > LEASE && !self.guards.without(Guard::DeadlineWithinLease) {
            return self.frees(me, receipt);
        }
        let is_running = |role: &Role| matches!(role, Runs { .. } | Stores { .. });
        let others = world.processes.iter().enumerate().filter(|&(other, _)| other != me);
        let together =
            |process: &crate::world::Process<Role>| is_running(&process.role) && process.age <= LEASE;
        let ran_together = others.into_iter().any(|(_, process)| process.is_alive && together(process));
        let record = &mut world.record;
        record.ran_together |= ran_together;
        record.ran_when_done |= record.was_done;
        record.ran_past_answer |= record.answer_at_claim[me];
        Runs { receipt }
    }

    fn closes(&self, answer: usize, me: usize, base: Body) -> Role {
        let body = Receipt { state: State::Done, owner: me, bound: me, step: 0 };
        Closes { answer, write: Writing::new(RECEIPT, body, If::Match(base)) }
    }

    fn looked(&self, world: &mut Here, me: usize, found: Option<Object<Body>>) -> Role {
        match found {
            Some(Object { body: Receipt { state: State::Done, .. }, .. }) => ReadsAnswer,
            Some(Object { body: base @ Receipt { state, .. }, age }) => {
                let is_over = age > LEASE || self.guards.without(Guard::ClaimAfterLease);
                if state == State::Running && !is_over {
                    return Later;
                }
                TakesOver(self.claims(world, me, Some(base)))
            }
            _ => Claims(self.claims(world, me, None)),
        }
    }

    fn took_over(&self, world: &mut Here, me: usize, receipt: Body) -> Role {
        if self.guards.without(Guard::LookForAnswer) {
            return self.runs(world, me, receipt);
        }
        LooksForAnswer { receipt }
    }

    fn stores(&self, me: usize, receipt: Body) -> Role {
        let is_blind = self.guards.without(Guard::FirstAnswerCounts);
        let only = if is_blind { If::Nothing } else { If::Absent };
        let write = Writing::new(ANSWER, Stored { by: me }, only);
        if self.guards.without(Guard::AnswerBeforeDone) {
            return self.closes(me, me, receipt);
        }
        Stores { receipt, write }
    }

    fn frees(&self, me: usize, receipt: Body) -> Role {
        let step = step_of(receipt);
        let body = Receipt { state: State::Free, owner: me, bound: me, step };
        let is_blind = self.guards.without(Guard::FreeIfMatch);
        let only = if is_blind { If::Nothing } else { If::Match(receipt) };
        Frees(Writing::new(RECEIPT, body, only))
    }

    fn saves(&self, me: usize, step: u8, base: Body) -> Role {
        // Its own writing of what it has claimed already.
        let body = Receipt { state: State::Running, owner: me, bound: 8 + me, step };
        let is_blind = self.guards.without(Guard::SaveIfMatch);
        let only = if is_blind { If::Nothing } else { If::Match(base) };
        Saves(Writing::new(RECEIPT, body, only))
    }

    fn closed(&self, world: &mut Here, me: usize, answer: usize) -> Role {
        if self.guards.without(Guard::AnswerBeforeDone) && world.store.body(ANSWER).is_none() {
            return StoresAfter(Writing::new(ANSWER, Stored { by: me }, If::Absent));
        }
        Replied { answer }
    }
}

impl Protocol for Receipts {
    type Body = Body;
    type Role = Role;
    type Record = Record;
    const OLDEST: u8 = LEASE + 1;

    fn starts(&self) -> Vec<Here> {
        let delivered = |me: usize| {
            let body = Receipt { state: State::Running, owner: me, bound: me, step: 0 };
            let only = if self.guards.without(Guard::ClaimCreates) { If::Nothing } else { If::Absent };
            Claims(Writing::new(RECEIPT, body, only))
        };
        let empty = || Store::new(&[]);
        let mut starts: Vec<Here> = vec![
            World::new(empty(), [delivered(0), delivered(1)], 1, 1),
            World::new(empty(), [delivered(0), delivered(1), Migrates], 0, 1),
            World::new(empty(), [delivered(0), delivered(1), delivered(2)], 0, 0),
        ];
        if self.full {
            starts.extend([
                World::new(empty(), [delivered(0), delivered(1), delivered(2)], 1, 1),
                World::new(empty(), [delivered(0), delivered(1), Migrates, Migrates], 1, 1),
                World::new(empty(), [delivered(0), delivered(1)], 2, 2),
            ]);
        }
        starts
    }

    fn request(&self, role: &Role) -> Option<Request<Body>> {
        match role {
            Claims(write) | TakesOver(write) | Saves(write) | Frees(write) => Some(write.request()),
            StoresAfter(write) | Rebinds(write) => Some(write.request()),
            Stores { write, .. } | Closes { write, .. } => Some(write.request()),
            Looks | LooksAtOwn { .. } | LooksAtSaved { .. } | Migrates => Some(Request::Get(RECEIPT)),
            LooksForAnswer { .. } | ReadsFirst { .. } | ReadsAnswer => Some(Request::Get(ANSWER)),
            _ => None,
        }
    }

    fn answered(&self, world: &mut Here, me: usize, answer: Answer<Body>) -> Role {
        match (world.processes[me].role.clone(), answer) {
            (Claims(write), answer) => match write.answered(answer) {
                Put::Going(write) => Claims(write),
                Put::Landed => self.runs(world, me, write.body),
                Put::Refused => Looks,
                Put::Unknown => Unknown,
            },
            (Looks, Answer::Found(found)) => self.looked(world, me, found),
            (TakesOver(write), answer) => match write.answered(answer) {
                Put::Going(write) => TakesOver(write),
                Put::Landed => self.took_over(world, me, write.body),
                Put::Refused => Looks,
                Put::Unknown => Unknown,
            },
            (LooksForAnswer { receipt }, Answer::Found(found)) => match found {
                Some(Object { body: Stored { by }, .. }) => self.closes(by, me, receipt),
                _ => self.runs(world, me, receipt),
            },
            (Saves(write), answer) => match write.answered(answer) {
                Put::Going(write) => Saves(write),
                Put::Landed => self.runs(world, me, write.body),
                Put::Refused => LooksAtSaved { step: step_of(write.body) },
                Put::Unknown => Unknown,
            },
            (LooksAtSaved { step }, Answer::Found(found)) => match found {
                Some(Object { body: base @ Receipt { state: State::Running, owner, .. }, .. })
                    if owner == me =>
                {
                    self.saves(me, step, base)
                }
                _ => TakenOver,
            },
            (Stores { receipt, write }, answer) => match write.answered(answer) {
                Put::Going(write) => Stores { receipt, write },
                Put::Landed => self.closes(me, me, receipt),
                Put::Refused => ReadsFirst { receipt },
                Put::Unknown => Unknown,
            },
            (ReadsFirst { receipt }, Answer::Found(Some(Object { body: Stored { by }, .. }))) => {
                self.closes(by, me, receipt)
            }
            (Closes { answer, write }, got) => match write.answered(got) {
                Put::Going(write) => Closes { answer, write },
                Put::Landed => self.closed(world, me, answer),
                Put::Refused if self.guards.without(Guard::OwnReceiptKnown) => TakenOver,
                Put::Refused => LooksAtOwn { answer },
                Put::Unknown => Unknown,
            },
            (LooksAtOwn { answer }, Answer::Found(found)) => match found {
                Some(Object { body: base @ Receipt { state: State::Running, owner, .. }, .. })
                    if owner == me =>
                {
                    self.closes(answer, me, base)
                }
                _ => TakenOver,
            },
            (StoresAfter(write), answer) => match write.answered(answer) {
                Put::Going(write) => StoresAfter(write),
                _ => Replied { answer: me },
            },
            (ReadsAnswer, Answer::Found(Some(Object { body: Stored { by }, .. }))) => Replied { answer: by },
            (Frees(write), answer) => match write.answered(answer) {
                Put::Going(write) => Frees(write),
                _ => Later,
            },
            (Migrates, Answer::Found(Some(Object { body: Receipt { state, owner, bound, step }, .. }))) => {
                let only = If::Match(Receipt { state, owner, bound, step });
                Rebinds(Writing::new(RECEIPT, Receipt { state, owner, bound: 4 + me, step }, only))
            }
            (Rebinds(write), answer) => match write.answered(answer) {
                Put::Going(write) => Rebinds(write),
                _ => Ended,
            },
            (Migrates, _) => Ended,
            _ => Unknown,
        }
    }

    fn choices(&self, world: &Here, me: usize) -> u8 {
        match world.processes[me].role {
            Runs { receipt } if step_of(receipt) < STEPS => 3,
            Runs { .. } => 2,
            _ => 0,
        }
    }

    /// Claude has answered, the time is up, or Claude goes on.
    fn choose(&self, world: &mut Here, me: usize, choice: u8) -> Role {
        let Runs { receipt } = world.processes[me].role else { return Unknown };
        if choice == 0 {
            return self.stores(me, receipt);
        }
        if choice == 2 {
            return self.saves(me, step_of(receipt) + 1, receipt);
        }
        self.frees(me, receipt)
    }

    fn executed(&self, world: &mut Here, what: Executed<Body>) {
        let (Request::Put { body, .. }, Answer::Done) = (what.request, what.answer) else { return };
        let has_answer = world.store.body(ANSWER).is_some();
        let record = &mut world.record;
        if let Receipt { state: State::Running | State::Free, step, .. } = body {
            record.was_lost |= step < record.kept;
            record.kept = record.kept.max(step);
        }
        match body {
            Receipt { state: State::Done, .. } => record.was_done = true,
            Receipt { state: State::Free, .. } => record.was_freed = true,
            Receipt { state: State::Running, owner, bound, step } if owner == bound => {
                record.went_on |= step > 0 && record.claimed & !(1 << owner) != 0;
                record.claimed |= 1 << owner;
                record.answer_at_claim[owner] = has_answer;
            }
            _ => {}
        }
    }

    fn is_timed(&self, role: &Role) -> bool {
        matches!(role, Claims(_) | TakesOver(_) | LooksForAnswer { .. } | Runs { .. } | Saves(_) | Stores { .. })
    }

    fn is_dated(&self, body: &Body) -> bool {
        matches!(body, Receipt { state: State::Running, .. })
    }

    fn properties() -> Vec<Property<Exploration<Self>>> {
        vec![
            Property::always("every reply carries the same answer", |_, world: &Here| {
                let mut answers: Vec<_> = replies(world).collect();
                answers.dedup();
                answers.len() <= 1
            }),
            Property::always("a finished turn is not run again", |_, world: &Here| {
                !world.record.ran_when_done
            }),
            Property::always("a turn that has an answer is not run again", |_, world: &Here| {
                !world.record.ran_past_answer
            }),
            Property::always("within a lease nobody else runs the turn", |_, world: &Here| {
                !world.record.ran_together
            }),
            Property::always("a closed receipt has an answer", |_, world: &Here| {
                let receipt = world.store.body(RECEIPT);
                let is_done = matches!(receipt, Some(Receipt { state: State::Done, .. }));
                !is_done || world.store.body(ANSWER).is_some()
            }),
            Property::always("a turn that was replied to stays finished", |_, world: &Here| {
                let receipt = world.store.body(RECEIPT);
                replies(world).next().is_none() || matches!(receipt, Some(Receipt { state: State::Done, .. }))
            }),
            Property::always("who is told of a takeover was taken over", |_, world: &Here| {
                let told = |(me, process): (usize, &crate::world::Process<Role>)| {
                    process.role == TakenOver && world.record.claimed & !(1 << me) == 0
                };
                !world.processes.iter().enumerate().any(told)
            }),
            Property::always("what was kept of a turn is not lost", |_, world: &Here| {
                !world.record.was_lost
            }),
            Property::sometimes("a turn goes on with another worker", |_, world: &Here| {
                world.record.went_on && replies(world).next().is_some()
            }),
            Property::sometimes("two deliveries get one answer", |_, world: &Here| {
                replies(world).count() > 1
            }),
            Property::sometimes("a turn is given back and answered by the next", |_, world: &Here| {
                world.record.was_freed && replies(world).next().is_some()
            }),
            Property::sometimes("an answer is found after its worker has died", |_, world: &Here| {
                let is_dead = |by: usize| !world.processes[by].is_alive;
                replies(world).any(is_dead)
            }),
        ]
    }
}

fn step_of(receipt: Body) -> u8 {
    match receipt {
        Receipt { step, .. } => step,
        Stored { .. } => 0,
    }
}

fn replies(world: &Here) -> impl Iterator<Item = usize> {
    world.processes.iter().filter_map(|process| match process.role {
        Replied { answer } => Some(answer),
        _ => None,
    })
}
