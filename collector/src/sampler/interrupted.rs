//! What a walk may read: the thread's own stack directly, any other memory through the kernel.
//!
//! A thread can be on a stack that csprof knows nothing about: an alternate signal stack, a
//! coroutine's. Its words are readable if the kernel says so; a page of it that was found readable
//! is read directly until the walk comes to the next. A word elsewhere is read by the kernel each
//! time: another thread may unmap it. So is code, which a program may forbid to read at any time:
//! of none anything is read directly.

#![expect(unsafe_code, reason = "reads words of the interrupted stack")]

use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::arch::unwind::inference::{Called, LONGEST_CALL, LONGEST_POP, call_before, pops};
use crate::arch::unwind::recipe::{CalleeSaved, Recipe};
use crate::arch::{LONGEST_STUB, PAGE_SIZE, RED_ZONE, USER_END};
use crate::modules::LoadMap;
use crate::modules::foreign::{self, Foreign};
use crate::modules::rules;
use crate::sys;
use crate::trampoline::arming::real;
use crate::unwind::cache::Marks;
use crate::unwind::known_ways::BLOCK;
use crate::unwind::target::Probes;
use crate::unwind::validate::StackBounds;
use crate::unwind::walk::{Code, Copied, Target};

/// The process as a walk sees it.
pub(super) struct Interrupted<'a> {
    map: &'a LoadMap,
    own: StackBounds,
    /// Lowest address of the own stack that is certainly in use.
    own_low: Cell<u64>,
    /// A page of the stack that is walked that was found readable; no page's address at first.
    page: Cell<u64>,
    /// The page of that stack to which the walk has come.
    reached: Cell<u64>,
    /// Whether code was met that begins an epoch as soon as the setup side sees it.
    next_epoch: Cell<bool>,
    /// For [`Foreign::containing`].
    readable: Cell<u64>,
    /// Where paths lead through generated code, what is left for that.
    probes: Option<Probes>,
}

/// What the handler wants to know of a frame's code.
pub(super) mod mark {
    use super::Marks;

    /// It is not in the load map: it may be an unwinder, or unmapped before it returns.
    pub(in crate::sampler) const FOREIGN: Marks = Marks(1);
    /// It is an unwinder's, or about to leave frames or to look at them.
    pub(in crate::sampler) const UNWINDER: Marks = Marks(2);
    /// Its return address may not be replaced.
    pub(in crate::sampler) const KEPT: Marks = Marks(4);
    /// Its module ends before a stub of a linkage table would.
    pub(in crate::sampler) const LAST: Marks = Marks(8);
    /// An unwinder that cannot be interposed might end at this frame. It finds the frame again by
    /// the stack pointer alone, which the trampoline shares: an armed slot below it would be taken
    /// for the handler (libgcc's `uw_identify_context`).
    pub(in crate::sampler) const CATCHES: Marks = Marks(16);
}

const PAGE: u64 = PAGE_SIZE as u64;
/// What was read of code that stays loaded, by the address behind it: as bytes, and these mixed
/// with the address, so that words of two threads are none. If such code is patched later, that is
/// not seen: of such answers only guesses are made.
static READ: [[AtomicU64; 2]; 1 << READ_BITS] =
    [const { [AtomicU64::new(0), AtomicU64::new(0)] }; 1 << READ_BITS];
/// So many that the call sites of a long path rarely meet in one place.
const READ_BITS: u32 = 12;
/// The address of no page.
const NO_PAGE: u64 = 1;
/// Bytes from the page of a frame to the pages above that are read directly: more than most frames
/// have.
const NEXT_PAGE: u64 = 16 * PAGE;
/// How far from a call the data may be of which code finds the address by it.
const NEAR: u64 = 4096;

impl<'a> Interrupted<'a> {
    pub(super) fn new(map: &'a LoadMap, own: StackBounds, generated: bool) -> Self {
        Self {
            map,
            own,
            own_low: Cell::new(u64::MAX),
            page: Cell::new(NO_PAGE),
            reached: Cell::new(u64::MAX),
            next_epoch: Cell::new(false),
            readable: Cell::new(0),
            probes: generated.then(Probes::default),
        }
    }

    /// The thread's own stack.
    pub(super) const fn bounds(&self) -> StackBounds {
        self.own
    }

    /// The load map that it answers from.
    pub(super) const fn map(&self) -> &LoadMap {
        self.map
    }

    pub(super) const fn is_of_next_epoch(&self) -> bool {
        self.next_epoch.get()
    }

    pub(super) const fn is_own(&self, sp: u64) -> bool {
        self.own.low <= sp && sp < self.own.high
    }

    /// Whether whatever is called at the call site behind which `real` is comes back there by a
    /// return: not the next instruction, nor one that takes the address off the stack to learn
    /// where it is.
    pub(super) fn is_returned_to(&self, real: u64) -> bool {
        let Some(code) = self.readable_code(real.wrapping_sub(1)) else { return false };
        let Some(before) = read_before(real) else { return false };
        let target_of = |offset| real.wrapping_add_signed(offset);
        match call_before(&before, |offset| code.contains(&target_of(offset))) {
            None => false,
            Some(Called::Indirect) => true,
            Some(Called::Direct(offset)) => {
                let target = target_of(offset);
                let recipe_there = || {
                    let stretch = self.map.find(target)?;
                    let place = u32::try_from(target.wrapping_sub(stretch.base)).ok()?;
                    Some(stretch.code.recipes()?.lookup(place).0)
                };
                let is_popped = || {
                    let first = sys::probe_bytes::<LONGEST_POP>(target);
                    first.is_none_or(|first| pops(&first, 0))
                };
                // Code that asks where it is calls into its own function; a caller and what it
                // calls mostly lie further from each other.
                offset.unsigned_abs() > NEAR
                    || offset != 0
                        && recipe_there().is_some_and(Recipe::is_of_entry)
                        && !is_popped()
            }
        }
    }

    /// Runtime addresses of the code around `pc`, as far as its module has it readable; the program
    /// may have forbidden it since.
    fn readable_code(&self, pc: u64) -> Option<Range<u64>> {
        let code = match self.map.find(pc) {
            Some(stretch) => stretch.start..stretch.readable_end,
            None => Foreign::containing(pc, &self.readable)?.readable_code_around(pc)?,
        };
        code.contains(&pc).then_some(code)
    }
}

/// The bytes before `address`, if they can be read: the program may forbid it at any time.
fn read_before(address: u64) -> Option<[u8; LONGEST_CALL]> {
    sys::probe_bytes(address.checked_sub(LONGEST_CALL as u64)?)
}

/// [`read_before`], of code that stays loaded.
fn remembered_before(address: u64) -> Option<[u8; LONGEST_CALL]> {
    // Fibonacci hashing, as in the cache of recipes.
    let place = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - READ_BITS)) as usize;
    let [mixed, bytes] = READ.get(place)?;
    let known = bytes.load(Ordering::Relaxed);
    if mixed.load(Ordering::Relaxed) ^ known == address {
        return Some(known.to_ne_bytes());
    }
    let found = read_before(address)?;
    let word = u64::from_ne_bytes(found);
    bytes.store(word, Ordering::Relaxed);
    mixed.store(address ^ word, Ordering::Relaxed);
    Some(found)
}

impl Target for Interrupted<'_> {
    fn code(&self, pc: u64) -> Option<Code<'_>> {
        let stretch = self.map.find(pc)?;
        Some(Code { base: stretch.base, recipes: stretch.code.recipes() })
    }

    fn marks(&self, pc: u64) -> Marks {
        let Some(stretch) = self.map.find(pc) else { return mark::FOREIGN };
        let rules = stretch.code.rules;
        let left = stretch.end - pc;
        let unsafe_function = || rules.has_unsafe_functions && rules::is_unsafe_function(pc);
        let leaving = || rules.has_unsafe_functions && rules::is_leaving(pc);
        let unwinder = stretch.is_unwinder(pc);
        let waits = unwinder && rules::is_wait(pc);
        [
            (mark::UNWINDER, (unwinder && !waits) || leaving()),
            (mark::KEPT, rules.never || waits || unsafe_function()),
            (mark::LAST, left < LONGEST_STUB),
            (mark::CATCHES, self.map.static_unwinder && stretch.may_handle_exceptions(pc)),
            // Functions of which something is marked are known by their symbols, and those of an
            // unwinder change their recipe within a row.
            (Marks::HERE, rules.has_unsafe_functions || unwinder),
            (Marks::HERE, left < BLOCK + LONGEST_STUB),
        ]
        .into_iter()
        .filter(|(_, holds)| *holds)
        .fold(Marks::default(), |all, (mark, _)| Marks(all.0 | mark.0))
    }

    fn foreign(&self, pc: u64) -> Option<(Recipe, CalleeSaved)> {
        let Some(module) = Foreign::containing(pc, &self.readable) else {
            foreign::note_outside();
            return None;
        };
        if self.map.is_displaced_by(&module) {
            self.next_epoch.set(true);
        }
        Some(module.recipe_at(pc))
    }

    fn may_jump(&self, pc: u64) -> bool {
        // The stubs of this library change stacks, and go to handlers by a jump; their call frame
        // information says where they return to.
        !rules::is_own_code(pc)
            && self.map.find(pc).is_some_and(|stretch| {
                let has_switches = stretch.code.rules.has_unsafe_functions;
                stretch.is_unwinder(pc) || has_switches && rules::is_unsafe_function(pc)
            })
    }

    fn text(&self, pc: u64) -> Option<Range<u64>> {
        self.readable_code(pc)
    }

    fn copy_text(&self, address: u64, to: &mut [u8]) -> usize {
        // A library may be gone, and the load map not yet know.
        sys::copy_readable(address, to)
    }

    fn code_before(&self, address: u64) -> Option<[u8; LONGEST_CALL]> {
        let pc = address.checked_sub(1)?;
        match self.map.find(pc) {
            Some(stretch) if stretch.code.stays() => remembered_before(address),
            None if !foreign::is_loaded(pc) => None,
            _ => read_before(address),
        }
    }

    fn probes(&self) -> Option<&Probes> {
        self.probes.as_ref()
    }

    fn copy(&self, address: u64, to: &mut [u8]) -> Copied {
        match sys::is_resident(address) {
            None => Copied::Nothing,
            Some(true) if sys::probe_into(address, to) => Copied::Whole,
            Some(_) => Copied::Unknown,
        }
    }

    fn stack(&self, sp: u64) -> Option<StackBounds> {
        self.reached(sp);
        if self.is_own(sp) {
            self.own_low.set(self.own_low.get().min(sp));
            return Some(StackBounds { low: sp, high: self.own.high });
        }
        (sp > PAGE && sp < USER_END).then_some(StackBounds { low: sp, high: USER_END })
    }

    #[inline]
    fn reached(&self, sp: u64) {
        self.reached.set(sp.saturating_sub(RED_ZONE) & !(PAGE - 1));
    }

    #[inline]
    fn read(&self, address: u64) -> Option<u64> {
        let in_use = StackBounds { low: self.own_low.get(), high: self.own.high };
        if !in_use.contains_word(address) {
            let page = address & !(PAGE - 1);
            if page != self.page.get() || address % PAGE > PAGE - 8 {
                // What code that nothing describes leads to is not known to be a stack.
                let last = address.checked_add(7)?;
                let is_there = |at| sys::is_resident(at) == Some(true);
                if self.probes.is_some() && !(is_there(address) && is_there(last)) {
                    return None;
                }
                let word = sys::probe(address)?;
                if page.wrapping_sub(self.reached.get()) <= NEXT_PAGE {
                    self.page.set(page);
                }
                return Some(real(word));
            }
        }
        // SAFETY: inside the part of the own stack that is in use, or in a page that was readable
        // a moment ago and is of the stack that this thread stands on, or that it will be on.
        Some(real(unsafe {
            core::ptr::with_exposed_provenance::<u64>(address as usize).read_unaligned()
        }))
    }
}

#[cfg(test)]
mod tests {
    use csprof_format::address::FrameKind;
    use csprof_format::loss::PartialReason;

    use super::*;
    use crate::arch::unwind::registers::{Register, Registers};
    use crate::unwind::cache::RecipeCache;
    use crate::unwind::walk::{End, Flow, Frame, walk};

    /// Off the own stack a page is read directly while the walk is there. What lies elsewhere may
    /// be unmapped by another thread between two reads.
    #[test]
    fn what_is_not_the_stack_may_go_at_any_time() {
        let pages = sys::map_anonymous(2 * NEXT_PAGE as usize).unwrap();
        let low = pages.as_ptr().expose_provenance() as u64;
        let map = LoadMap::default();
        let process = Interrupted::new(&map, StackBounds { low: 0, high: 0 }, false);
        let (stack, heap) = (low, low + NEXT_PAGE + 2 * PAGE);
        assert_eq!(process.stack(stack).map(|stack| stack.low), Some(stack));
        assert_eq!([stack, heap, stack + PAGE].map(|at| process.read(at)), [Some(0); 3]);
        assert_eq!(process.page.get(), stack + PAGE);
        assert_eq!(process.read(heap), Some(0));
        process.reached(heap);
        assert_eq!((process.read(heap), process.page.get()), (Some(0), heap));
        process.reached(stack);
        assert_eq!(process.read(stack), Some(0));
        // SAFETY: pages of this test's own, to which no reference is.
        unsafe {
            libc::mprotect(
                pages.byte_add((heap - low) as usize).as_ptr().cast(),
                PAGE_SIZE,
                libc::PROT_NONE,
            )
        };
        assert_eq!(process.read(heap), None);
    }

    /// Pages that may be forbidden one by one.
    struct Pages(core::ptr::NonNull<u8>);

    impl Pages {
        fn new(count: usize) -> Self {
            Self(sys::map_anonymous(count * PAGE_SIZE).unwrap())
        }

        fn start(&self) -> u64 {
            self.0.as_ptr().expose_provenance() as u64
        }

        fn write<const N: usize>(&self, at: usize, code: [u8; N]) {
            // SAFETY: inside the pages, to which no reference is.
            unsafe { self.0.byte_add(at).cast().write(code) };
        }

        fn forbid(&self, page: usize) {
            // SAFETY: a page of this test's own, to which no reference is.
            let page = unsafe { self.0.byte_add(page * PAGE_SIZE) };
            // SAFETY: the same.
            assert_eq!(unsafe { libc::mprotect(page.as_ptr().cast(), PAGE_SIZE, 0) }, 0);
        }
    }

    /// A program may forbid to read its own code at any time: what a call leads to, and what was
    /// read before.
    #[test]
    fn code_may_become_unreadable() {
        let pages = Pages::new(2);
        let (real, end) = (pages.start() + PAGE, pages.start() + 2 * PAGE);
        let write = |call: [u8; 5]| pages.write(PAGE_SIZE - 5, call);
        let map = LoadMap::of_entries(pages.start(), end);
        let process = Interrupted::new(&map, StackBounds { low: 0, high: 0 }, false);
        // `call *%rax`; a direct one to what is 16 bytes behind it.
        let (indirect, near) = ([0x90, 0x90, 0x90, 0xff, 0xd0], [0xe8, 16, 0, 0, 0]);
        write(near);
        assert!(process.is_returned_to(real));
        pages.forbid(1);
        // It may take the address off the stack.
        assert!(!process.is_returned_to(real));
        write(indirect);
        assert!(process.is_returned_to(real));
        assert_eq!(remembered_before(real), process.code_before(real));
        pages.forbid(0);
        assert!(!process.is_returned_to(real));
        assert_eq!(process.code_before(real), None);
        assert_eq!(remembered_before(real), Some([0, 0, 0, 0x90, 0x90, 0x90, 0xff, 0xd0]));
    }

    /// The same of code that is followed, since nothing describes it, and of what lies before it.
    #[test]
    fn code_that_is_followed_may_become_unreadable() {
        let pages = Pages::new(3);
        let (pc, caller) = (pages.start() + PAGE, pages.start() + 2 * PAGE + 2);
        pages.write(2 * PAGE_SIZE, [0xff, 0xd0, 0xf4]); // call *%rax; hlt
        let mut words = [0; 32];
        words[0] = caller;
        let [low, last] = [0, 31].map(|at| (&raw const words[at]).addr() as u64);
        let map = LoadMap::of_code(&[(pages.start(), pages.start() + 3 * PAGE)]);
        let mut cache = std::boxed::Box::new(RecipeCache::new());
        let mut frames_of = |kind| {
            let process = Interrupted::new(&map, StackBounds { low, high: last + 8 }, false);
            let mut registers = Registers::interrupted(pc, [0; 16]);
            registers.set(Register::RSP, low);
            registers.set(Register::RDI, caller);
            // As a thread does that was not here before.
            cache.prepare(1);
            cache.prepare(2);
            let mut frames = std::vec::Vec::new();
            walk(&registers, kind, &mut cache, &process, |frame| {
                frames.push(frame.address);
                Flow::Continue
            });
            frames
        };
        pages.forbid(0);
        for kind in [FrameKind::Leaf, FrameKind::Call] {
            pages.write(PAGE_SIZE, [0xc3, 0x90]); // ret
            assert_eq!(frames_of(kind), [pc, caller], "{kind:?}");
            pages.write(PAGE_SIZE, [0xff, 0xe7]); // jmp *%rdi
            assert_eq!(frames_of(kind), [pc], "{kind:?}");
        }
        pages.forbid(1);
        for kind in [FrameKind::Leaf, FrameKind::Call] {
            assert_eq!(frames_of(kind), [pc], "{kind:?}");
        }
    }

    /// Where paths lead through generated code, no page is brought into memory: neither by a copy
    /// of code, nor by what such code seems to have for a stack.
    #[test]
    fn no_page_is_brought_into_memory() {
        let pages = sys::map_anonymous(4 * PAGE_SIZE).unwrap();
        let code = pages.as_ptr().expose_provenance() as u64;
        let there = code + 2 * PAGE;
        // SAFETY: a fresh page; `mov %rdi,%rsp; ret`.
        unsafe { pages.cast::<[u8; 4]>().write([0x48, 0x89, 0xfc, 0xc3]) };
        let words = [0_u64; 64];
        let [low, last] = [0, 63].map(|at| (&raw const words[at]).addr() as u64);
        let map = LoadMap::default();
        let mut cache = std::boxed::Box::new(RecipeCache::new());
        // On the thread's own stack, and on one of which no end is known.
        for own in [StackBounds { low, high: last + 8 }, StackBounds { low: 0, high: 0 }] {
            let process = Interrupted::new(&map, own, true);
            let mut registers = Registers::interrupted(code, [0; 16]);
            registers.set(Register::RSP, low);
            registers.set(Register::RDI, there);
            cache.prepare(1);
            let flow = |_: &Frame| Flow::Continue;
            let end = walk(&registers, FrameKind::Leaf, &mut cache, &process, flow);
            assert_eq!(end, End::Partial(PartialReason::UnknownModule));
            assert_eq!(process.copy(there, &mut [0; 8]), Copied::Unknown);
            assert_eq!(process.read(there), None);
            assert_eq!(sys::is_resident(there), Some(false));
        }
    }

    /// A recipe may compute any address from what is in a register. Only words that are on the own
    /// stack, or that the kernel can read, are read.
    #[test]
    fn no_address_is_read_that_is_not_there() {
        let words = [0x1111_u64, 0x2222, 0x3333];
        let [low, last] = [0, 2].map(|at| (&raw const words[at]).addr() as u64);
        let map = LoadMap::default();
        let process = Interrupted::new(&map, StackBounds { low, high: last + 8 }, false);
        assert_eq!(process.stack(low), Some(StackBounds { low, high: last + 8 }));
        assert_eq!(
            [low, low + 8, last].map(|at| process.read(at)),
            [0x1111, 0x2222, 0x3333].map(Some)
        );
        for address in [0, 7, 8, PAGE, USER_END, 1 << 63, u64::MAX - 15, u64::MAX - 7, u64::MAX] {
            assert_eq!(process.read(address), None, "{address:#x}");
        }
    }
}
