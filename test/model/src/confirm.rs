//! Conditional writes whose answers may get lost (docs/protocols.md, "Ground rules", 3).

use crate::store::{Answer, If, Key, Request, Version};

/// A conditional PUT on its way to a certain outcome: src/store/settle.ts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Writing<B> {
    pub key: Key,
    pub body: B,
    pub only: If<B>,
    resent: bool,
    reading: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Put<B> {
    Going(Writing<B>),
    Landed,
    /// The precondition failed, and it was not by our own doing.
    Refused,
    Unknown,
}

impl<B: Version> Writing<B> {
    pub fn new(key: Key, body: B, only: If<B>) -> Self {
        Self { key, body, only, resent: false, reading: false }
    }

    pub fn request(self) -> Request<B> {
        let Self { key, body, only, .. } = self;
        if self.reading { Request::Get(key) } else { Request::Put { key, body, only } }
    }

    pub fn answered(self, answer: Answer<B>) -> Put<B> {
        if !self.reading {
            return match answer {
                Answer::Done => Put::Landed,
                Answer::Changed | Answer::Missing if !self.resent => Put::Refused,
                _ => Put::Going(Self { reading: true, ..self }),
            };
        }
        let Answer::Found(found) = answer else { return Put::Unknown };
        let there = found.map(|object| object.body);
        let is_base = match self.only {
            If::Absent => there.is_none_or(|version| version.is_tombstone()),
            If::Match(base) => there == Some(base),
            If::Nothing => false,
        };
        match there {
            Some(version) if version == self.body => Put::Landed,
            _ if is_base && !self.resent => Put::Going(Self { resent: true, reading: false, ..self }),
            _ => Put::Unknown,
        }
    }
}

/// The port's guarded delete, which is sent once more when its answer is lost: src/store/port.ts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Removing<B> {
    pub key: Key,
    pub only: If<B>,
    resent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removed<B> {
    Going(Removing<B>),
    Gone,
    /// `definite`: another process did it, and not an earlier attempt of ours.
    Changed {
        definite: bool,
    },
    Missing {
        definite: bool,
    },
    Unknown,
}

impl<B: Version> Removing<B> {
    pub fn new(key: Key, only: If<B>) -> Self {
        Self { key, only, resent: false }
    }

    pub fn request(self) -> Request<B> {
        Request::Remove { key: self.key, only: self.only }
    }

    pub fn answered(self, answer: Answer<B>) -> Removed<B> {
        match answer {
            Answer::Done => Removed::Gone,
            Answer::Changed => Removed::Changed { definite: !self.resent },
            Answer::Missing => Removed::Missing { definite: !self.resent },
            _ if self.resent => Removed::Unknown,
            _ => Removed::Going(Self { resent: true, ..self }),
        }
    }
}
