//! Retirement of tenant keys (docs/protocols.md, "Migration of objects"): a key leaves the keyring only when nothing stands
//! under it, and when nothing that was sealed with it can still be acknowledged.
//!
//! A writer works with a keyring that it keeps for a time to live, seals, sends within a bound, and looks at the keyring
//! once more when the success came later than that. One rotates, one migrates and retires; others rotate and edit besides.

use crate::confirm::{Put, Writing};
use crate::guards::{Guard, Guards};
use crate::store::{Answer, If, Key, Object, Request, Store, Version};
use crate::world::{Exploration, Protocol, World, WorldOf};
use stateright::Property;

/// Ticks that a keyring is kept, from the start of its load.
const TTL: u8 = 2;
/// Ticks after its sealing within which a version may be sent: at most a third of the time to live.
const SENDING: u8 = 1;
/// Ticks after the last write of the keyring before which no pass may begin that retires a key.
const RETIRE: u8 = 2 * TTL;
const KEYRING: Key = 0;
/// What was there at first, under the first key.
const OLD: Key = 1;
const NEW: Key = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keys {
    /// By bit.
    all: u8,
    active: u8,
    bound: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Body {
    Keyring(Keys),
    File { key: u8, text: u8, bound: usize },
}
use Body::{File, Keyring};

impl Version for Body {}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Role {
    /// `at`: which file; an editor reads it first.
    Loads(Key),
    Ready {
        at: Key,
        keys: Keys,
    },
    ReadsFile {
        at: Key,
        keys: Keys,
    },
    /// Sealed; between this and the wire lies whatever a process does meanwhile.
    Sealed(Sealing),
    Puts(Sealing, Writing<Body>),
    /// The success came later than the bound, or it cannot be told when.
    LooksAtKeyring(Sealing),
    Acknowledged {
        at: Key,
    },
    Rotates,
    WritesKeyring {
        key: u8,
        write: Writing<Body>,
    },
    /// Looks at the keyring, and whether a pass that begins now may retire.
    BeginsPass,
    Lists {
        keys: Keys,
        may_retire: bool,
    },
    /// Without the guard the age is looked at when the pass has ended.
    EndsPass {
        keys: Keys,
    },
    Rebinds {
        keys: Keys,
        write: Writing<Body>,
    },
    Retires(Writing<Body>),
    Retired,
    Ended,
    Unknown,
}
use Role::*;

/// A version of a file that was sealed, and what it is to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sealing {
    at: Key,
    body: Body,
    over: If<Body>,
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Record {
    promised: u8,
    sent_retired: bool,
    resealed: bool,
}

pub struct KeyRetirement {
    pub guards: Guards,
    pub full: bool,
}

type Here = WorldOf<KeyRetirement>;

fn bit(me: usize) -> u8 {
    2 << me
}

impl KeyRetirement {
    fn loads(&self, world: &mut Here, me: usize, at: Key) -> Role {
        world.processes[me].age = 0;
        Loads(at)
    }

    fn seals(&self, world: &mut Here, me: usize, keys: Keys, (at, text, over): (Key, u8, If<Body>)) -> Role {
        world.processes[me].age = 0;
        let body = File { key: keys.active, text, bound: me };
        Sealed(Sealing { at, body, over })
    }

    fn landed(&self, world: &mut Here, me: usize, sealing: Sealing) -> Role {
        let in_time = world.processes[me].age <= SENDING || self.guards.without(Guard::LookAfterLateSuccess);
        if in_time { self.acknowledges(world, me, sealing) } else { LooksAtKeyring(sealing) }
    }

    fn acknowledges(&self, world: &mut Here, me: usize, sealing: Sealing) -> Role {
        if let File { text, .. } = sealing.body {
            world.record.promised |= text & bit(me);
        }
        Acknowledged { at: sealing.at }
    }

    /// Under another key than the active one, what has landed is sealed again, by If-Match.
    fn looked_again(&self, world: &mut Here, me: usize, sealing: Sealing, keys: Keys) -> Role {
        let File { key, text, bound } = sealing.body else { return Unknown };
        // A key that is merely held may be leaving: its pass may have looked here before this version landed.
        let is_safe = if self.guards.without(Guard::LateNeedsActiveKey) { keys.all } else { keys.active };
        if is_safe & key != 0 {
            return self.acknowledges(world, me, sealing);
        }
        world.record.resealed = true;
        world.processes[me].age = 0;
        let body = File { key: keys.active, text, bound: bound + 8 };
        Sealed(Sealing { body, over: If::Match(sealing.body), ..sealing })
    }

    fn listed(&self, world: &mut Here, me: usize, keys: Keys, may_retire: bool) -> Role {
        let files = [OLD, NEW].map(|at| (at, world.store.body(at)));
        let found = files.iter().find_map(|&(at, body)| match body {
            Some(File { key, text, bound }) if key != keys.active => Some((at, key, text, bound)),
            _ => None,
        });
        match found {
            Some((at, key, text, bound)) if !self.guards.without(Guard::PassFindsNone) => {
                let only = match self.guards.without(Guard::MigrateIfMatch) {
                    true => If::Nothing,
                    false => If::Match(File { key, text, bound }),
                };
                let body = File { key: keys.active, text, bound: me + 16 };
                Rebinds { keys, write: Writing::new(at, body, only) }
            }
            _ if self.guards.without(Guard::PassBeginsLate) => EndsPass { keys },
            _ if may_retire => self.retires(keys, me),
            _ => BeginsPass,
        }
    }

    fn retires(&self, keys: Keys, me: usize) -> Role {
        let only = match self.guards.without(Guard::RetireIfMatch) {
            true => If::Nothing,
            false => If::Match(Keyring(keys)),
        };
        let left = Keys { all: keys.active, active: keys.active, bound: me + 8 };
        Retires(Writing::new(KEYRING, Keyring(left), only))
    }
}

impl Protocol for KeyRetirement {
    type Body = Body;
    type Role = Role;
    type Record = Record;
    const OLDEST: u8 = RETIRE;

    fn starts(&self) -> Vec<Here> {
        let first = Keyring(Keys { all: 1, active: 1, bound: 31 });
        let old = File { key: 1, text: 1, bound: 31 };
        let store = || Store::new(&[(KEYRING, first, RETIRE), (OLD, old, 0)]);
        let mut starts: Vec<Here> = vec![
            World::new(store(), [Loads(NEW), Rotates, BeginsPass], 1, 0),
            World::new(store(), [Loads(OLD), Rotates, BeginsPass], 0, 0),
            World::new(store(), [Rotates, Rotates, BeginsPass], 0, 0),
        ];
        if self.full {
            starts.push(World::new(store(), [Loads(OLD), Rotates, BeginsPass], 0, 1));
        }
        for world in &mut starts {
            world.record.promised = 1;
        }
        starts
    }

    fn request(&self, role: &Role) -> Option<Request<Body>> {
        match role {
            Loads(_) | LooksAtKeyring(_) | Rotates | BeginsPass | EndsPass { .. } => {
                Some(Request::Get(KEYRING))
            }
            ReadsFile { at, .. } => Some(Request::Get(*at)),
            Lists { .. } => Some(Request::List),
            Puts(_, write) | WritesKeyring { write, .. } | Rebinds { write, .. } | Retires(write) => {
                Some(write.request())
            }
            _ => None,
        }
    }

    fn answered(&self, world: &mut Here, me: usize, answer: Answer<Body>) -> Role {
        match (world.processes[me].role.clone(), answer) {
            (Loads(NEW), Answer::Found(Some(Object { body: Keyring(keys), .. }))) => Ready { at: NEW, keys },
            (Loads(at), Answer::Found(Some(Object { body: Keyring(keys), .. }))) => ReadsFile { at, keys },
            (ReadsFile { at, keys }, Answer::Found(Some(Object { body: File { key, .. }, .. })))
                if keys.all & key == 0 =>
            {
                self.loads(world, me, at)
            }
            (ReadsFile { at, keys }, Answer::Found(Some(Object { body: seen @ File { text, .. }, .. }))) => {
                if world.processes[me].age > TTL {
                    return self.loads(world, me, at);
                }
                self.seals(world, me, keys, (at, text | bit(me), If::Match(seen)))
            }
            (Puts(sealing, write), answer) => match write.answered(answer) {
                Put::Going(write) => Puts(sealing, write),
                Put::Landed => self.landed(world, me, sealing),
                Put::Refused => Ended,
                Put::Unknown => Unknown,
            },
            (LooksAtKeyring(sealing), Answer::Found(Some(Object { body: Keyring(keys), .. }))) => {
                self.looked_again(world, me, sealing, keys)
            }
            (Rotates, Answer::Found(Some(Object { body: base @ Keyring(keys), .. }))) => {
                let key = 2 << me;
                let next = Keys { all: keys.all | key, active: key, bound: me };
                WritesKeyring { key, write: Writing::new(KEYRING, Keyring(next), If::Match(base)) }
            }
            (WritesKeyring { key, write }, answer) => {
                let Keyring(keys) = write.body else { return Unknown };
                let is_hasty = answer == Answer::Lost && self.guards.without(Guard::KeyringConfirmed);
                match write.answered(answer) {
                    Put::Landed => {
                        world.processes[me].age = 0;
                        ReadsFile { at: OLD, keys }
                    }
                    Put::Going(_) if is_hasty => ReadsFile { at: OLD, keys },
                    Put::Going(write) => WritesKeyring { key, write },
                    Put::Refused => Ended,
                    Put::Unknown => Unknown,
                }
            }
            (BeginsPass, Answer::Found(Some(Object { body: Keyring(keys), age }))) => {
                if keys.all == keys.active {
                    return BeginsPass;
                }
                Lists { keys, may_retire: age >= RETIRE || self.guards.without(Guard::RetireWaits) }
            }
            (Lists { keys, may_retire }, Answer::Listed(_)) => self.listed(world, me, keys, may_retire),
            (EndsPass { keys }, Answer::Found(Some(Object { age, .. }))) => {
                if age >= RETIRE {
                    self.retires(keys, me)
                } else {
                    EndsPass { keys }
                }
            }
            (Rebinds { keys, write }, answer) => match write.answered(answer) {
                Put::Going(write) => Rebinds { keys, write },
                _ => BeginsPass,
            },
            (Retires(write), answer) => match write.answered(answer) {
                Put::Going(write) => Retires(write),
                Put::Landed => Retired,
                _ => Ended,
            },
            _ => Unknown,
        }
    }

    fn choices(&self, world: &Here, me: usize) -> u8 {
        match world.processes[me].role {
            Ready { .. } | Sealed(_) => 1,
            _ => 0,
        }
    }

    fn choose(&self, world: &mut Here, me: usize, _choice: u8) -> Role {
        let age = world.processes[me].age;
        match world.processes[me].role.clone() {
            Ready { at, .. } if age > TTL && !self.guards.without(Guard::KeyringExpires) => {
                self.loads(world, me, at)
            }
            Ready { at, keys } => self.seals(world, me, keys, (at, bit(me), If::Absent)),
            Sealed(sealing) if age > SENDING && !self.guards.without(Guard::SendingBound) => {
                match sealing.over {
                    // Sealed anew, under a keyring that is looked at.
                    If::Absent => self.loads(world, me, sealing.at),
                    _ => Unknown,
                }
            }
            Sealed(sealing) => {
                let File { key, .. } = sealing.body else { return Unknown };
                let is_held = |keys: Keys| keys.all & key != 0;
                let now = world.store.body(KEYRING);
                world.record.sent_retired |= !matches!(now, Some(Keyring(keys)) if is_held(keys));
                Puts(sealing, Writing::new(sealing.at, sealing.body, sealing.over))
            }
            role => role,
        }
    }

    fn is_timed(&self, role: &Role) -> bool {
        matches!(role, Loads(_) | Ready { .. } | ReadsFile { .. } | Sealed(_) | Puts(..))
    }

    fn is_dated(&self, body: &Body) -> bool {
        matches!(body, Keyring(_))
    }

    fn has_blind_clocks(&self) -> bool {
        self.guards.without(Guard::KeyringByBothClocks)
    }

    fn properties() -> Vec<Property<Exploration<Self>>> {
        vec![
            Property::always("what was acknowledged can be read", |_, world: &Here| {
                let is_acknowledged = |at: Key| {
                    at == OLD || world.processes.iter().any(|process| process.role == Acknowledged { at })
                };
                [OLD, NEW].iter().all(|&at| !is_acknowledged(at) || is_readable(world, at))
            }),
            Property::always("an acknowledged edit stays", |_, world: &Here| {
                let text = |at: Key| match world.store.body(at) {
                    Some(File { text, .. }) => text,
                    _ => 0,
                };
                world.record.promised & !(text(OLD) | text(NEW)) == 0
            }),
            Property::always("nothing is sent under a key that is retired", |_, world: &Here| {
                !world.record.sent_retired
            }),
            Property::sometimes("a key is retired", |_, world: &Here| is(world, |role| *role == Retired)),
            Property::sometimes(
                "a version that came too late is sealed anew and acknowledged",
                |_, world: &Here| {
                    world.record.resealed && is(world, |role| *role == Acknowledged { at: NEW })
                },
            ),
            Property::sometimes("an edit is acknowledged and its file migrated", |_, world: &Here| {
                is(world, |role| *role == Acknowledged { at: OLD }) && is(world, |role| *role == Retired)
            }),
        ]
    }
}

fn is_readable(world: &Here, at: Key) -> bool {
    match (world.store.body(KEYRING), world.store.body(at)) {
        (Some(Keyring(keys)), Some(File { key, .. })) => keys.all & key != 0,
        _ => false,
    }
}

fn is(world: &Here, wanted: fn(&Role) -> bool) -> bool {
    world.processes.iter().any(|process| wanted(&process.role))
}
