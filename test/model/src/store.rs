//! A store as every protocol sees it: one atomic verb at a time, conditions honoured on PUT. Bodies carry a nonce
//! of their own ("every write is a new sealing"), so the body stands for its ETag as well.

use std::hash::Hash;

/// Objects a model may have.
pub const KEYS: usize = 6;
pub type Key = usize;

/// What identifies one stored version.
pub trait Version: Copy + Eq + Ord + Hash + std::fmt::Debug + Send + Sync + 'static {
    /// Whether every verb of the port passes it over as nothing.
    fn is_tombstone(&self) -> bool {
        false
    }
}

/// Age in ticks, by the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object<B> {
    pub body: B,
    pub age: u8,
}

/// The precondition of a PUT. `Nothing` is what a guard that was taken out leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum If<B> {
    Absent,
    Match(B),
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request<B> {
    Get(Key),
    /// Everything there is; who sends it looks at the keys it is about.
    List,
    Put {
        key: Key,
        body: B,
        only: If<B>,
    },
    /// A delete without a precondition.
    Delete(Key),
    /// The port's guarded delete, atomic: what guarded_delete.rs shows that two requests come to.
    Remove {
        key: Key,
        only: If<B>,
    },
}

pub type Slots<B> = [Option<Object<B>>; KEYS];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer<B> {
    Done,
    /// The precondition failed on something that is there.
    Changed,
    /// The precondition failed because nothing is there.
    Missing,
    Found(Option<Object<B>>),
    Listed(Slots<B>),
    /// No answer: the request may have been executed, may be on its way, or may be gone.
    Lost,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store<B> {
    pub slots: Slots<B>,
}

impl<B: Version> Store<B> {
    pub fn new(objects: &[(Key, B, u8)]) -> Self {
        let mut slots = [None; KEYS];
        for &(key, body, age) in objects {
            slots[key] = Some(Object { body, age });
        }
        Self { slots }
    }

    pub fn body(&self, key: Key) -> Option<B> {
        self.slots[key].map(|object| object.body)
    }

    pub fn execute(&mut self, request: &Request<B>) -> Answer<B> {
        match *request {
            Request::Get(key) => Answer::Found(self.slots[key]),
            Request::List => Answer::Listed(self.slots),
            Request::Put { key, body, only } => self.when(key, only, Some(Object { body, age: 0 })),
            Request::Delete(key) => self.when(key, If::Nothing, None),
            Request::Remove { key, only } => self.when(key, only, None),
        }
    }

    fn when(&mut self, key: Key, only: If<B>, next: Option<Object<B>>) -> Answer<B> {
        match (only, self.body(key)) {
            (If::Absent, Some(_)) => return Answer::Changed,
            (If::Match(wanted), Some(there)) if wanted != there => return Answer::Changed,
            (If::Match(_), None) => return Answer::Missing,
            _ => {}
        }
        self.slots[key] = next;
        Answer::Done
    }

    /// Time goes by. Beyond `oldest` ages do not differ for anybody.
    pub fn tick(&mut self, oldest: u8) {
        for object in self.slots.iter_mut().flatten() {
            object.age = oldest.min(object.age + 1);
        }
    }
}
