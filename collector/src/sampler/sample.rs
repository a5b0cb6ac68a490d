//! A sample: one page, top to bottom, from interrupted registers to the counted node.
//!
//! Signal side: runs in the handler, on a stack of its own (`thread/handler_stack.rs`). It may have
//! interrupted anything: malloc, the loader, a lock's holder. So: no libc, no heap, no locks, no
//! panics, no recursion; memory it needs comes from system calls.
//!
//! What [`Sampler::sample`] does, in order:
//! 1. Walk the stack from the interrupted registers until the outermost frame, or until the slot
//!    that the trampoline has armed: everything outside that is known. (ICS'05 2.3) What that may
//!    take is [bounded](super::effort).
//! 2. Find or add the path's nodes below the known part's node and add the weight to the last,
//!    which is of the source's metric.
//! 3. If the stack is in a state that the trampoline can follow, make the walked frames the cached
//!    path and arm the innermost safe one. (ICS'05 2.3.1)
//!
//! Whatever stands in the way, the weight is counted: as recorded, or under a
//! [`LossReason`]. Step 3 happens only after step 2 succeeded, so a sample that fails changes
//! nothing.

#![expect(unsafe_code, reason = "counters in shared memory, stack slots")]

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::loss::{LossReason, PartialReason};

use super::effort::CUT_DEPTH;
use super::interrupted::{Interrupted, mark};
use super::uses::Uses;
use super::way_back::key;
use super::{KernelPlace, Sample, Sampler};
use crate::arch::unwind::inference::{Above, uses_word};
use crate::arch::unwind::registers::{Register, Registers};
use crate::arch::{self, LONGEST_STUB};
use crate::arena::ThreadArena;
use crate::cct;
use crate::modules::{LoadMap, foreign, rules};
use crate::phases;
use crate::process;
use crate::sys::{self, Clock};
use crate::trampoline::entry::is_trampoline_code;
use crate::trampoline::sites::Number;
use crate::trampoline::walked::{Arming, WalkedFrame};
use crate::unwind::validate::StackBounds;
use crate::unwind::walk::{End, Exit, Flow, Frame, Target, innermost, walk};

impl Sampler {
    /// Counts a sample as delivered, and as recorded or lost. Without a `map` it is lost, but for
    /// one in the trampoline, whose path is known. Returns the node to which it was added. Signal
    /// side.
    pub fn sample(&mut self, map: Option<&LoadMap>, sample: &Sample<'_>) -> Option<u32> {
        self.arena.record_mut().count_delivered(sample.metric, sample.weight);
        match sample.time_ns {
            Some(time_ns) => self.effort.earn(time_ns),
            None => self.effort_of_calls.earn_by_clock(cpu_time_ns),
        }
        let result = self.add(map, sample);
        let record = self.arena.record_mut();
        match result {
            Ok((_, recorded)) => {
                record.count_recorded(sample.metric, recorded);
                record.count_loss(LossReason::ArenaFull, sample.weight.saturating_sub(recorded));
            }
            Err(reason) => record.count_loss(reason, sample.weight),
        }
        result.ok().map(|(node, _)| node)
    }

    /// The node of a context that is about to hand work over to other threads: the code that
    /// `sample` begins at, of which no sample is counted, and none is armed. `None` if its callers
    /// are not all found, and node 0 if no more nodes may be added for contexts. Also whether the
    /// armed slot is that code's own. Signal side.
    pub fn context(&mut self, map: &LoadMap, sample: &Sample<'_>) -> Option<(u32, bool)> {
        let before = self.arena.record_mut().node_count;
        let context = self.context_node(map, sample);
        let added = self.arena.record_mut().node_count.saturating_sub(before);
        self.context_nodes = self.context_nodes.saturating_add(added);
        context
    }

    fn context_node(&mut self, map: &LoadMap, sample: &Sample<'_>) -> Option<(u32, bool)> {
        /// That of no context.
        const NONE: Option<(u32, bool)> = Some((0, false));
        let is_same_tree =
            self.epoch.is_some_and(|epoch| epoch >= map.epoch) && self.phase == phases::present();
        if is_same_tree && self.context_nodes >= MOST_CONTEXT_NODES {
            return NONE;
        }
        let registers = &sample.registers;
        if is_trampoline_code(registers.ip) {
            let place = (registers.ip, registers.sp());
            return Some((self.returning(place, sample.kind, sample.metric).ok()?, false));
        }
        self.effort_of_contexts.earn_by_clock(cpu_time_ns);
        if self.effort_of_contexts.is_in_debt() {
            return None;
        }
        let mut taken = Taken::default();
        self.take_present(&interrupted(map, sample.stack), sample, &mut taken).ok()?;
        if taken.partial.is_some() {
            return None;
        }
        if self.context_nodes >= MOST_CONTEXT_NODES {
            return NONE;
        }
        let (node, _) = self.add_nodes(sample, &taken).ok()?;
        Some((node, taken.met.armed && self.walked.frames().len() == 1))
    }

    /// Whether the nodes of the cached path are those of the present epoch, phase and handover.
    fn knows_path(&self) -> bool {
        self.path_root == self.root
    }

    /// Adds a sample to the tree, and arms. Returns its node, and how much of its weight found
    /// room.
    fn add(
        &mut self,
        map: Option<&LoadMap>,
        sample: &Sample<'_>,
    ) -> Result<(u32, u64), LossReason> {
        let Sample { ref registers, kind, stack: bounds, metric, weight, .. } = *sample;
        if is_trampoline_code(registers.ip) {
            let place = (registers.ip, registers.sp());
            let node = self.returning(place, kind, metric)?;
            self.arena.note_time(node, weight);
            cct::add_samples(&self.arena, node, weight);
            self.arena.record_mut().reused_paths += 1;
            return Ok((node, weight));
        }
        let map = map.ok_or(LossReason::NoThreadState)?;
        let stack = interrupted(map, bounds);
        let mut taken = Taken::default();
        self.take_present(&stack, sample, &mut taken)?;
        let (node, known) = self.add_nodes(sample, &taken)?;
        let &Taken { ref met, partial, left, .. } = &taken;

        // 2. Count.
        let (arena, walked) = (&mut self.arena, &mut self.walked);
        let below = add_inside(arena, node, sample);
        let rest = weight.saturating_sub(below);
        let mut recorded = weight;
        if rest > 0 {
            match own_node(arena, node, sample) {
                Some(node) => {
                    arena.note_time(node, rest);
                    cct::add_samples(arena, node, rest);
                }
                None if below == 0 => return Err(LossReason::ArenaFull),
                None => recorded = below,
            }
        }
        let depth = walked.frames().len();
        let record = arena.record_mut();
        record.frames_unwound += depth as u64;
        record.max_depth = record.max_depth.max((depth + known - 1) as u32);
        record.reused_paths += u64::from(known > 1);
        if let Some(reason) = partial {
            record.count_partial(metric, reason, recorded);
        }

        // 3. Arm.
        let suspected = self.shared().suspect.is_on(self.walked.frames());
        let at_work = met.unwinder || met.jump || suspected;
        let followable = met.own_stack && !met.signal && !met.foreign && !at_work;
        if sample.arms && partial.is_none() && followable {
            self.arm(&stack, met.armed, (known, left), registers.sp());
        }
        Ok((node, recorded))
    }

    /// Walks the stack, in the tree of the present epoch, phase and handover. Told where to
    /// write, for the handler stack has no room for that twice.
    fn take_present(
        &mut self,
        stack: &Interrupted<'_>,
        sample: &Sample<'_>,
        taken: &mut Taken,
    ) -> Result<(), LossReason> {
        let map = stack.map();
        self.cache.prepare(map.generation);
        self.uses.prepare(map.generation);
        // A tree may be ahead of the map, never behind.
        let (phase, handover) = (phases::present(), self.shared().handover());
        let is_behind = self.epoch.is_none_or(|epoch| epoch < map.epoch);
        if is_behind || (self.phase, self.handover) != (phase, handover) {
            let epoch = self.epoch.map_or(map.epoch, |epoch| epoch.max(map.epoch));
            self.enter(epoch, phase, handover)?;
        }

        // 1. Walk.
        self.take_path(sample, stack, taken);
        if taken.met.next_epoch && self.epoch == Some(map.epoch) {
            let next = map.epoch.wrapping_add(1);
            foreign::await_epoch(next);
            self.enter(next, self.phase, self.handover)?;
            self.take_path(sample, stack, taken);
        }
        Ok(())
    }

    /// Finds or adds the nodes of the path that was taken. Returns the last one, and how many
    /// entries of the cached path are known to be on the stack.
    fn add_nodes(
        &mut self,
        sample: &Sample<'_>,
        taken: &Taken,
    ) -> Result<(u32, usize), LossReason> {
        let &Sample { waited_in, metric, inside, weight, .. } = sample;
        let &Taken { ref met, partial, armed_index, .. } = taken;
        let known = if met.armed && self.knows_path() { armed_index } else { 1 };
        let root = match partial {
            Some(reason) => self.partial_root(reason)?,
            None if met.trampoline.is_some() => {
                let place = met.trampoline.unwrap_or_default();
                self.returning(place, FrameKind::Interrupted, 0)?
            }
            None if known > 1 => {
                self.path.entries().get(known - 1).map_or(self.root, |entry| entry.node)
            }
            None => self.root,
        };
        let (arena, walked) = (&mut self.arena, &mut self.walked);
        // The frame that the sample ends in has a node for each metric, so that one counter is
        // enough.
        let metric = if weight_inside(inside, weight) == weight { 0 } else { metric };
        if let Some(innermost) = walked.frames_mut().first_mut().filter(|_| waited_in.is_none()) {
            innermost.key = innermost.key.of_metric(metric);
        }
        let mut node = root;
        for frame in walked.frames_mut().iter_mut().rev() {
            node = cct::child(arena, node, frame.key).ok_or(LossReason::ArenaFull)?;
            frame.node = node;
        }
        if let Some(number) = waited_in {
            let key = FrameKey::new(FrameKind::Wait, u64::from(number)).of_metric(metric);
            node = cct::child(arena, node, key).ok_or(LossReason::ArenaFull)?;
        }
        Ok((node, known))
    }

    /// Walks the stack; the frames are then in `self.walked`.
    fn take_path(
        &mut self,
        &Sample { ref registers, kind, time_ns, weight, .. }: &Sample<'_>,
        stack: &Interrupted<'_>,
        taken: &mut Taken,
    ) {
        let bounds = stack.bounds();
        let record = &self.shared().record;
        let armed_index = self.path.follow(record);
        let in_place = armed_index > 0 && record.is_in_place(registers.sp()..bounds.high);
        let armed_slot = if in_place { record.armed_slot() } else { 0 };
        let knows_path = self.knows_path();
        let may_arm = self.may_arm(stack.map());
        *taken = Taken { armed_index, ..Taken::default() };
        taken.left = if armed_slot == 0 { armed_index } else { 0 };
        let met = &mut taken.met;
        met.own_stack = stack.is_own(registers.sp());
        let walked = &mut self.walked;
        let uses = &mut self.uses;
        let effort = match time_ns {
            Some(_) => &mut self.effort,
            None if weight == 0 => &mut self.effort_of_contexts,
            None => &mut self.effort_of_calls,
        };
        walked.truncate(0);
        // Whether the frame visited last returns to the next one through a slot.
        let mut returned_to = false;
        let mut cut = false;
        // A first frame whose recipe is remembered is left as always: that is cheap, and its slot
        // may be the armed one.
        let pc = registers.ip.wrapping_sub(kind.lookup_bias());
        let only_innermost = effort.is_in_deep_debt() && self.cache.get(pc).is_none();
        effort.begin(cpu_time_ns);
        let visit = |frame: &Frame| {
            if frame.kind == FrameKind::Interrupted && is_trampoline_code(frame.address) {
                met.trampoline = Some((frame.address, frame.sp));
                return Flow::Stop;
            }
            if returned_to && frame.marks.has(mark::CATCHES) {
                walked.leave_unseen();
            }
            if matches!(frame.exit, Exit::Guess { .. }) {
                // Code without call frame information: who knows by what it is found.
                walked.leave_alone();
            }
            returned_to = matches!(frame.exit, Exit::Return { .. });
            let (slot, real, arming) = judge(frame, registers, bounds, (may_arm, uses), met);
            if !walked.push(WalkedFrame { key: key(frame), slot, real, node: 0, arming }) {
                met.full = true;
                return Flow::Stop;
            }
            let goes_on = effort.spend(frame.took, walked.frames().len(), cpu_time_ns);
            if slot != 0 && slot == armed_slot {
                met.armed = true;
                if knows_path {
                    return Flow::Stop;
                }
            }
            if !goes_on {
                cut = true;
                return Flow::Stop;
            }
            Flow::Continue
        };
        let end = if only_innermost {
            innermost(registers, kind, stack, End::Stopped, visit)
        } else {
            walk(registers, kind, &mut self.cache, stack, visit)
        };
        // Not if that was the outermost frame.
        let cut = (cut || only_innermost) && end == End::Stopped;
        effort.end(cut, cpu_time_ns);
        met.full |= cut;
        if end == End::Stopped && met.armed && stack.map().static_unwinder {
            // The walk did not come to the frame that it returns to.
            let real = walked.frames().last().map_or(0, |frame| frame.real);
            let pc = real.wrapping_sub(FrameKind::Call.lookup_bias());
            let marks = self.cache.get(pc).map_or_else(|| stack.marks(pc), |(_, marks)| marks);
            if marks.has(mark::CATCHES) || marks.has(mark::FOREIGN) {
                walked.leave_unseen();
            }
        }
        if met.full {
            walked.truncate(CUT_DEPTH);
        }
        met.next_epoch = stack.is_of_next_epoch();
        taken.partial = match end {
            _ if met.trampoline.is_some() => None,
            _ if met.full => Some(PartialReason::TooDeep),
            End::Partial(reason) => Some(reason),
            End::Complete | End::Stopped => None,
        };
    }

    /// The node of the context to which the trampoline is about to return, as code that is running
    /// or interrupted there. `place` is where the trampoline was interrupted: pc and stack pointer.
    ///
    /// Record and path are left as they are: the trampoline goes on with them afterwards. Nothing
    /// needs to be armed, for all that is on the stack is in the path.
    fn returning(
        &mut self,
        place: (u64, u64),
        kind: FrameKind,
        metric: usize,
    ) -> Result<u32, LossReason> {
        let node = || {
            let (caller, address) = self.shared().record.returning_to(place.0, place.1)?;
            let context = cct::parent(&self.arena, self.path.node_of(caller)?)?;
            Some((context, FrameKey::new(kind, address).of_metric(metric)))
        };
        let (context, key) = node().ok_or(LossReason::InTrampoline)?;
        cct::child(&mut self.arena, context, key).ok_or(LossReason::ArenaFull)
    }

    /// Whether any slot may be armed beside these modules.
    fn may_arm(&self, map: &LoadMap) -> bool {
        self.arms && !map.unarmed
    }

    /// Makes the walked frames the cached path, behind the first `known` entries, and arms the
    /// innermost safe one. `left` is the index of a cached activation whose slot does not hold the
    /// trampoline any more, 0 if there is none: it was left by a jump, and all inside it, even
    /// where other activations stand in their place and look the same.
    fn arm(
        &mut self,
        stack: &Interrupted<'_>,
        met_armed: bool,
        (known, left): (usize, usize),
        sp: u64,
    ) {
        let record = &self.shared().record;
        if !self.may_arm(stack.map()) {
            // What is cached was armed before the library came that minds.
            if !record.inner().is_null() {
                record.disarm(sp..stack.bounds().high);
                let cached = self.path.entries().iter().filter(|entry| entry.slot != 0).count();
                self.arena.record_mut().lost_returns += cached as u64;
                record.rest(core::ptr::null(), core::ptr::null());
            }
            return;
        }
        let frames = self.walked.frames();
        // Which of the cached activations from `known` on are still there? Those have the same slot
        // and return address, outermost first; the outermost frame of all has none. With the armed
        // slot met, the others lie inside it and must have returned; without, nobody saw how they
        // left.
        let cached = self.path.entries().get(known..).unwrap_or_default();
        let same = cached
            .iter()
            .zip(frames.iter().rev())
            .take(if left > 0 { left.saturating_sub(known) } else { usize::MAX })
            .take_while(|(old, new)| old.slot == new.slot && old.real == new.real)
            .count();
        let gone = cached.get(same..).unwrap_or_default();
        if met_armed {
            for entry in gone {
                // SAFETY: the count of a node or of lost returns, in this thread's arena.
                unsafe { *entry.edge += 1 };
            }
            self.arena.record_mut().returns += gone.len() as u64;
        } else {
            self.arena.record_mut().lost_returns +=
                gone.iter().filter(|entry| entry.slot != 0).count() as u64;
        }
        record.disarm(sp..stack.bounds().high);
        let arena = &self.arena;
        let edge_cell = |frame: &WalkedFrame| match frame.arming {
            Arming::Blind => arena.lost_returns_cell(),
            Arming::Safe | Arming::Unsafe => arena.edge_cell(frame.node),
        };
        let site = |frame: &WalkedFrame| {
            let generation = stack.map().generation;
            let number = Number::of(frame.real)
                .filter(|site| site.verdict(generation, || stack.is_returned_to(frame.real)));
            number.map_or(0, Number::mark)
        };
        if !self.path.replace_from(known, frames, edge_cell, site) {
            // Memory was refused: all of them are lost from sight.
            record.rest(core::ptr::null(), core::ptr::null());
            self.arena.record_mut().lost_returns += (known - 1 + same) as u64;
            return;
        }
        self.path_root = self.root;
        let innermost = self.path.len() - 1;
        let target = self.path.nearest_safe(innermost);
        let inner = self.path.entry(innermost);
        if target > 0 {
            // SAFETY: both lie in the path, which describes the stack as just walked; the slot was
            // read by the walk and lies on the thread's own stack above the stack pointer.
            unsafe { record.arm(self.path.entry(target), inner) };
        } else {
            record.rest(self.path.entry(0), inner);
        }
    }

    /// Begins the tree of an epoch and phase, and in it that of a handover if there is one, or goes
    /// on with it. The nodes of the cached path belong to the last one; activations that return
    /// before the next sample still count there.
    fn enter(&mut self, epoch: u32, phase: u32, handover: u64) -> Result<(), LossReason> {
        let before = self.arena.record_mut().node_count;
        let mut below =
            |parent, key| cct::child(&mut self.arena, parent, key).ok_or(LossReason::ArenaFull);
        let epoch_root = below(0, FrameKey::root(epoch, phase))?;
        if epoch_root >= before {
            // A new tree, in which there is none of the contexts.
            self.context_nodes = 0;
        }
        let key = FrameKey::from_bits(handover).filter(|key| key.thread_and_node().is_some());
        let root = key.map_or(Ok(epoch_root), |key| below(epoch_root, key))?;
        (self.epoch_root, self.root, self.handover) = (epoch_root, root, handover);
        self.partial_roots = [0; PartialReason::COUNT];
        self.epoch = Some(epoch);
        self.phase = phase;
        Ok(())
    }

    fn partial_root(&mut self, reason: PartialReason) -> Result<u32, LossReason> {
        let known = self.partial_roots[reason as usize];
        if known != 0 {
            return Ok(known);
        }
        let key = FrameKey::new(FrameKind::Partial, reason as u64);
        let root =
            cct::child(&mut self.arena, self.epoch_root, key).ok_or(LossReason::ArenaFull)?;
        self.partial_roots[reason as usize] = root;
        Ok(root)
    }
}

/// Nodes that a thread adds for contexts at most (2.6 MB) in an epoch and phase: their number grows
/// with the program's paths, and not with the samples.
const MOST_CONTEXT_NODES: u32 = 1 << 16;

/// How much of a sample's weight is of places in the kernel.
fn weight_inside(inside: &[KernelPlace], weight: u64) -> u64 {
    inside.iter().fold(0u64, |sum, place| sum.saturating_add(place.weight)).min(weight)
}

/// The node of the sample's own metric, where [`Sampler::add_nodes`] returned `node`: of one that
/// lies in the kernel with all its weight that is the node above. `None` if there is no room for
/// another.
fn own_node(arena: &mut ThreadArena, node: u32, sample: &Sample<'_>) -> Option<u32> {
    if weight_inside(sample.inside, sample.weight) < sample.weight {
        return Some(node);
    }
    let (parent, key) = (cct::parent(arena, node)?, cct::key(arena, node)?);
    cct::child(arena, parent, key.of_metric(sample.metric))
}

/// Adds what of a sample's weight is of places in the kernel to nodes of these, below what `node`
/// is the node of. Returns how much that was: what finds no room is not in it.
#[inline(never)]
fn add_inside(arena: &mut ThreadArena, node: u32, sample: &Sample<'_>) -> u64 {
    let &Sample { inside, weight, metric, .. } = sample;
    let all = weight_inside(inside, weight);
    if all == 0 {
        return 0;
    }
    let above = match (cct::parent(arena, node), cct::key(arena, node)) {
        _ if all == weight => Some(node),
        (Some(parent), Some(key)) => cct::child(arena, parent, key.of_metric(0)),
        _ => None,
    };
    let Some(above) = above else { return 0 };
    let mut added = 0;
    for place in inside {
        let share = place.weight.min(all - added);
        let key = FrameKey::new(FrameKind::Kernel, place.address).of_metric(metric);
        let Some(below) = cct::child(arena, above, key).filter(|_| share > 0) else { break };
        arena.note_time(below, share);
        cct::add_samples(arena, below, share);
        added += share;
    }
    added
}

fn interrupted(map: &LoadMap, bounds: StackBounds) -> Interrupted<'_> {
    let generated = process::current().is_some_and(|process| process.config.generated);
    Interrupted::new(map, bounds, generated)
}

fn cpu_time_ns() -> u64 {
    sys::now_ns(Clock::ThreadCpu)
}

/// What the walk met, besides frames.
#[derive(Default)]
struct Met {
    /// The armed slot: all frames outside it are known, if their nodes are of the present epoch.
    armed: bool,
    /// A signal frame: the walked frames are on both sides of it.
    signal: bool,
    /// A frame that jumps to another one: it will not return.
    jump: bool,
    /// An unwinder, which may be reading the slots right now.
    unwinder: bool,
    /// Code that is not in the load map. It may be an unwinder, or unmapped before it returns.
    foreign: bool,
    /// Such code in the place of other code of the epoch: the sample belongs to the next one.
    next_epoch: bool,
    /// The interrupted code was on the thread's own stack.
    own_stack: bool,
    /// The trampoline's own code, interrupted by a handler of the program: pc and stack pointer.
    trampoline: Option<(u64, u64)>,
    /// The path did not fit, or to follow it would have taken too long.
    full: bool,
}

/// What step 1 leaves, besides the frames.
#[derive(Default)]
struct Taken {
    met: Met,
    partial: Option<PartialReason>,
    /// Index in the cached path of the armed entry; 0 if there is none.
    armed_index: usize,
    /// The same, if its slot does not hold the trampoline any more; else 0.
    left: usize,
}

/// Slot and return address of a frame, and whether the slot may be armed, if any may. Notes what
/// else it is. `registers` are those of the innermost one.
fn judge(
    frame: &Frame,
    registers: &Registers,
    bounds: StackBounds,
    (may_arm, uses): (bool, &mut Uses),
    met: &mut Met,
) -> (u64, u64, Arming) {
    met.foreign |= frame.marks.has(mark::FOREIGN);
    met.unwinder |= frame.marks.has(mark::UNWINDER);
    match frame.exit {
        Exit::Return { slot, address, plain, .. } => {
            let safe = may_arm
                && plain
                && !frame.marks.has(mark::KEPT)
                && !frame.marks.has(mark::FOREIGN)
                && slot.is_multiple_of(8)
                && bounds.contains_word(slot)
                && match frame.kind {
                    FrameKind::Call => true,
                    FrameKind::Leaf => !may_mind(frame, registers, slot, uses),
                    // Its code may not be readable: it may be that which the signal came of.
                    _ => false,
                };
            (slot, address, if safe { Arming::Safe } else { Arming::Unsafe })
        }
        Exit::Guess { slot, address } => (slot, address, Arming::Unsafe),
        Exit::Signal => {
            met.signal = true;
            (0, 0, Arming::Unsafe)
        }
        Exit::Register { address } => (0, address, Arming::Unsafe),
        Exit::Jump { address } => {
            met.jump = true;
            (0, address, Arming::Unsafe)
        }
        Exit::None => (0, 0, Arming::Unsafe),
    }
}

/// Whether the innermost code, which is of a module, is, or could be, a stub of a linkage table, or
/// is about to use the word at `slot` other than for returning: to learn where it was called from,
/// or since it is none that a call has left.
fn may_mind(frame: &Frame, registers: &Registers, slot: u64, uses: &mut Uses) -> bool {
    if frame.marks.has(mark::LAST) {
        return true;
    }
    let above = |address| slot.wrapping_sub(address).cast_signed();
    let word = Above { sp: above(frame.sp), bp: registers.get(Register::RBP).map(above) };
    // Where rbp points to the same frame, it does so each time.
    uses.get(frame.address, word.sp, || {
        // SAFETY: that many bytes of the module's executable segments follow, in which the thread
        // runs.
        let code = unsafe { rules::code_at::<{ LONGEST_STUB as usize }>(frame.address) };
        code.is_none_or(|code| arch::is_plt_jump(&code) || uses_word(&code, 0, word))
    })
}
