//! Processes, the network between them and the store, and time. Anything may take any time: a request on its way may
//! arrive at any later moment, and a process stands still whenever the others go on. What has a bound says so.

use crate::store::{Answer, Request, Store, Version};
use stateright::{Model, Property};
use std::fmt::Debug;
use std::hash::Hash;

pub trait Plain: Clone + PartialEq + Hash + Debug + Send + Sync + 'static {}
impl<T: Clone + PartialEq + Hash + Debug + Send + Sync + 'static> Plain for T {}

/// One protocol: what its processes send, and what they make of the answers.
pub trait Protocol: Sized + Send + Sync + 'static {
    type Body: Version;
    /// Where a process is in its program, with its memory.
    type Role: Plain;
    /// What nobody in the model can see: what has happened, for the properties.
    type Record: Plain;

    /// Ages beyond this do not differ for anybody.
    const OLDEST: u8;

    fn starts(&self) -> Vec<WorldOf<Self>>;
    /// The request that a process has on its way.
    fn request(&self, role: &Self::Role) -> Option<Request<Self::Body>>;
    /// What a process does with an answer: its next role.
    fn answered(&self, world: &mut WorldOf<Self>, me: usize, answer: Answer<Self::Body>) -> Self::Role;
    fn properties() -> Vec<Property<Exploration<Self>>>;

    /// How many things a process may do by itself now.
    fn choices(&self, _world: &WorldOf<Self>, _me: usize) -> u8 {
        0
    }
    fn choose(&self, world: &mut WorldOf<Self>, me: usize, _choice: u8) -> Self::Role {
        world.processes[me].role.clone()
    }
    /// How many ticks after its process decided on it a request can still arrive. None: for ever.
    fn life(&self, _request: &Request<Self::Body>) -> Option<u8> {
        None
    }
    /// Whether the network may deliver it a second time, later.
    fn may_double(&self, _request: &Request<Self::Body>) -> bool {
        true
    }
    /// The store has executed a request of `by`; `before` is what was there.
    fn executed(&self, _world: &mut WorldOf<Self>, _what: Executed<Self::Body>) {}
    fn ticked(&self, _world: &mut WorldOf<Self>) {}
    /// Whether the time since its last decision means anything to a process now.
    fn is_timed(&self, _role: &Self::Role) -> bool {
        false
    }
    /// Whether anybody asks for the age of such an object.
    fn is_dated(&self, _body: &Self::Body) -> bool {
        false
    }
    /// Whether any bound can still be reached.
    fn is_time_passing(&self, _world: &WorldOf<Self>) -> bool {
        true
    }
    /// Whether a process may stand still by the clock that it reads, while time goes by.
    fn has_blind_clocks(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Executed<B> {
    pub by: usize,
    pub request: Request<B>,
    pub before: Option<B>,
    pub answer: Answer<B>,
    /// Its process does not wait for it any more.
    pub is_late: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process<R> {
    pub role: R,
    pub is_alive: bool,
    /// Ticks since it last decided on something that has a bound, by its own clocks.
    pub age: u8,
}

/// A request whose process has given up waiting, or is gone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Late<B> {
    pub request: Request<B>,
    pub by: usize,
    pub age: u8,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub struct World<B, R, H> {
    pub store: Store<B>,
    pub processes: Vec<Process<R>>,
    pub late: Vec<Late<B>>,
    /// How often the network may still lose an answer, delay a request or deliver it twice.
    pub faults: u8,
    pub crashes: u8,
    pub record: H,
}

pub type WorldOf<P> = World<<P as Protocol>::Body, <P as Protocol>::Role, <P as Protocol>::Record>;

impl<B: Version, R, H: Default> World<B, R, H> {
    pub fn new(store: Store<B>, roles: impl IntoIterator<Item = R>, faults: u8, crashes: u8) -> Self {
        let processes = roles.into_iter().map(|role| Process { role, is_alive: true, age: 0 }).collect();
        Self { store, processes, late: Vec::new(), faults, crashes, record: H::default() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A process goes on by itself.
    Goes(usize, u8),
    /// Its request is executed and answered.
    Arrives(usize),
    AnswerLost(usize),
    /// The process gives up waiting; its request is still on its way, or lost.
    GivenUp(usize),
    Doubled(usize),
    /// The bound of its request's life has passed.
    Ended(usize),
    Crashes(usize),
    /// A late request is executed.
    ArrivesLate(usize),
    Tick,
    /// Time goes by, but not by the clock that this process reads.
    TickUnseenBy(usize),
}

pub struct Exploration<P>(pub P);

impl<P: Protocol> Exploration<P> {
    fn can_arrive(&self, request: &Request<P::Body>, age: u8) -> bool {
        self.0.life(request).is_none_or(|life| age <= life)
    }

    fn execute(&self, world: &mut WorldOf<P>, by: usize, request: Request<P::Body>) -> Answer<P::Body> {
        let before = match request {
            Request::Put { key, .. } | Request::Delete(key) | Request::Remove { key, .. } => {
                world.store.body(key)
            }
            _ => None,
        };
        let answer = world.store.execute(&request);
        let awaited = self.0.request(&world.processes[by].role);
        let is_late = !world.processes[by].is_alive || awaited != Some(request);
        self.0.executed(world, Executed { by, request, before, answer, is_late });
        answer
    }

    fn hand(&self, world: &mut WorldOf<P>, me: usize, answer: Answer<P::Body>) {
        world.processes[me].role = self.0.answered(world, me, answer);
    }

    fn postpone(&self, world: &mut WorldOf<P>, by: usize, request: Request<P::Body>) {
        let age = if self.0.life(&request).is_some() { world.processes[by].age } else { 0 };
        world.late.push(Late { request, by, age });
        world.late.sort();
    }

    /// States that differ in nothing that matters are one state.
    fn forget_what_nobody_asks(&self, world: &mut WorldOf<P>) {
        for object in world.store.slots.iter_mut().flatten() {
            if !self.0.is_dated(&object.body) {
                object.age = 0;
            }
        }
        for process in &mut world.processes {
            if !process.is_alive || !self.0.is_timed(&process.role) {
                process.age = 0;
            }
        }
    }

    fn tick(&self, world: &mut WorldOf<P>, unseen_by: Option<usize>) {
        world.store.tick(P::OLDEST);
        for (at, process) in world.processes.iter_mut().enumerate() {
            if unseen_by != Some(at) {
                process.age = P::OLDEST.min(process.age + 1);
            }
        }
        for late in &mut world.late {
            if self.0.life(&late.request).is_some() {
                late.age += 1;
            }
        }
        world.late.retain(|late| self.can_arrive(&late.request, late.age));
        self.0.ticked(world);
    }
}

fn changes_something<B>(request: &Request<B>) -> bool {
    !matches!(request, Request::Get(_) | Request::List)
}

impl<P: Protocol> Model for Exploration<P> {
    type State = WorldOf<P>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        self.0.starts()
    }

    fn actions(&self, world: &Self::State, actions: &mut Vec<Action>) {
        for (me, process) in world.processes.iter().enumerate().filter(|(_, process)| process.is_alive) {
            actions.extend((0..self.0.choices(world, me)).map(|choice| Action::Goes(me, choice)));
            let Some(request) = self.0.request(&process.role) else { continue };
            let can_arrive = self.can_arrive(&request, process.age);
            if !can_arrive {
                actions.push(Action::Ended(me));
            } else {
                actions.push(Action::Arrives(me));
                if world.faults > 0 {
                    actions.push(Action::AnswerLost(me));
                    if changes_something(&request) {
                        actions.push(Action::GivenUp(me));
                        if self.0.may_double(&request) {
                            actions.push(Action::Doubled(me));
                        }
                    }
                }
            }
            if world.crashes > 0 {
                actions.push(Action::Crashes(me));
            }
        }
        actions.extend((0..world.late.len()).map(Action::ArrivesLate));
        if !self.0.is_time_passing(world) {
            return;
        }
        actions.push(Action::Tick);
        if self.0.has_blind_clocks() {
            let timed = |me: &usize| self.0.is_timed(&world.processes[*me].role);
            actions.extend((0..world.processes.len()).filter(timed).map(Action::TickUnseenBy));
        }
    }

    fn next_state(&self, last: &Self::State, action: Action) -> Option<Self::State> {
        let mut world = last.clone();
        let request_of = |me: usize| self.0.request(&last.processes[me].role);
        match action {
            Action::Goes(me, choice) => {
                world.processes[me].role = self.0.choose(&mut world, me, choice);
            }
            Action::Arrives(me) => {
                let answer = self.execute(&mut world, me, request_of(me)?);
                self.hand(&mut world, me, answer);
            }
            Action::AnswerLost(me) => {
                let request = request_of(me)?;
                world.faults -= 1;
                self.execute(&mut world, me, request);
                self.hand(&mut world, me, Answer::Lost);
            }
            Action::GivenUp(me) => {
                world.faults -= 1;
                self.postpone(&mut world, me, request_of(me)?);
                self.hand(&mut world, me, Answer::Lost);
            }
            Action::Doubled(me) => {
                let request = request_of(me)?;
                world.faults -= 1;
                self.postpone(&mut world, me, request);
                let answer = self.execute(&mut world, me, request);
                self.hand(&mut world, me, answer);
            }
            Action::Ended(me) => self.hand(&mut world, me, Answer::Lost),
            Action::Crashes(me) => {
                world.crashes -= 1;
                let age = last.processes[me].age;
                let is_sent =
                    |request: &Request<P::Body>| changes_something(request) && self.can_arrive(request, age);
                if let Some(request) = request_of(me).filter(is_sent) {
                    self.postpone(&mut world, me, request);
                }
                world.processes[me].is_alive = false;
                world.processes[me].age = 0;
            }
            Action::ArrivesLate(at) => {
                let Late { request, by, .. } = world.late.remove(at);
                self.execute(&mut world, by, request);
            }
            Action::Tick => self.tick(&mut world, None),
            Action::TickUnseenBy(me) => self.tick(&mut world, Some(me)),
        }
        self.forget_what_nobody_asks(&mut world);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        P::properties()
    }
}
