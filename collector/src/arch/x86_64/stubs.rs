//! Functions in front of others, that these must not notice.
//!
//! A stub begins with its fast path: where nothing is sampled it jumps on, so that the function
//! behind it sees exactly the call that the program made. `r11` is the one register that a caller
//! cannot count on and that carries no argument (psABI, figure 3.4).
//!
//! Invariant: at every instruction the call frame information of a stub is right, and the return
//! address is where the call put it, so an unwinder or a sample may come at any time.

use core::mem::offset_of;

use super::unwind::registers::Registers;

/// A call that a stub looks at, as it is kept in the stub's frame.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Call {
    /// A seventh argument, for the function that is called; see [`Self::pass_seventh_argument`].
    on_stack: u64,
    /// For what is asked before the call. Holds anything.
    pub room: Room,
    /// What the function has returned, once it has.
    pub result: usize,
    /// The six integer arguments; the function is called with what they are by then.
    pub arguments: [usize; 6],
    frame_pointer: u64,
    /// Where the stub's caller goes on.
    pub caller: u64,
}

impl Call {
    /// Hands on the seventh argument, where the real function takes one. Only then is it known to
    /// be there: the first function of a thread may have its return address in the last word of its
    /// stack.
    ///
    /// # Safety
    /// The caller has passed seven arguments, or may have.
    pub(crate) unsafe fn pass_seventh_argument(&mut self) {
        // SAFETY: by contract.
        self.on_stack = unsafe { self.seventh_argument() };
    }

    /// The seventh argument.
    ///
    /// # Safety
    /// The caller has passed seven arguments, or may have.
    pub(crate) unsafe fn seventh_argument(&self) -> u64 {
        // SAFETY: above the return address, where the psABI has it.
        unsafe { (&raw const self.caller).add(1).read() }
    }

    /// Hands on so many arguments behind the sixth. They take the first words of the room.
    ///
    /// # Safety
    /// The caller has passed them.
    pub(crate) unsafe fn pass_stack_arguments<const COUNT: usize>(&mut self) {
        const { assert!(COUNT <= 7) };
        for argument in 0..COUNT {
            // SAFETY: above the return address, where the psABI has it.
            let word = unsafe { (&raw const self.caller).add(1 + argument).read() };
            match argument.checked_sub(1) {
                None => self.on_stack = word,
                Some(place) => self.room[place] = word,
            }
        }
    }

    /// The argument at this place behind the sixth, from 0.
    ///
    /// # Safety
    /// The caller has passed it.
    pub(crate) unsafe fn stack_argument(&self, place: usize) -> usize {
        // SAFETY: above the return address, where the psABI has it.
        unsafe { (&raw const self.caller).add(1 + place).read() as usize }
    }

    /// The registers of the stub's caller as it goes on behind the call, as far as they are known:
    /// of a frame of the kind [`Call`](csprof_format::address::FrameKind::Call).
    pub(crate) fn caller_registers(&self) -> Registers {
        let slot = (&raw const self.caller).addr();
        Registers::calling(self.caller, (slot + size_of::<u64>()) as u64, self.frame_pointer)
    }
}

/// Calls `function` with `argument` on the stack whose top is `top`, a multiple of 16. A walk from
/// there comes back to the caller.
///
/// # Safety
/// The stack is not in use, and has room for what `function` needs; `argument` is what it takes.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_on_stack(
    argument: *mut core::ffi::c_void,
    function: extern "C" fn(*mut core::ffi::c_void),
    top: u64,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdx",
        "call rsi",
        "leave",
        ".cfi_def_cfa rsp, 8",
        ".cfi_restore rbp",
        "ret",
        ".cfi_endproc",
    )
}

/// Words that a [`Call`] has room for.
pub(crate) type Room = [u64; 16];

/// Where a stub goes on, in the registers in which the C ABI returns two words.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Route {
    /// The function.
    pub target: *mut core::ffi::c_void,
    /// 0: jump there, as if there were no stub. 1: call it.
    pub calls: usize,
}

/// Defines a function in front of `$real`, a static that begins with the address of the real one,
/// or null as long as nobody has looked for it. It jumps there if that is known and the byte
/// `$engaged` is 0. Else it asks `$before`, a function of `(&mut Call, &$real)` with C's ABI, and
/// goes on in one of three ways:
///
/// - `jump`: `$before` returns an address. Jumps there.
/// - `call`: it returns a [`Route`]. Jumps, or calls, asks `$after(&mut Call)` if there is one, and
///   returns the result.
/// - `hold`: it returns a [`Route`]. Jumps, or calls, asks `$after(&mut Call)` if there is one,
///   unblocks the signals in the first word of the room if there are any and the byte `$unblocks`
///   is not 0, takes 1 from the [`thread_bytes`](super::thread_local::thread_bytes)
///   `csprof_waits_under_way` if that is not 0, and returns the result. `in` says in which system
///   call the function waits; one that is at work as well has none.
///
/// A question in braces tells calls apart by an argument, before anything is saved: if it is
/// answered by no, `$before` is not asked either.
macro_rules! stub {
    ($(#[$attribute:meta])* {} $($rest:tt)*) => {
        $crate::arch::stub!(@ [$(#[$attribute])*] [] [] $($rest)*);
    };
    ($(#[$attribute:meta])* {argument $at:tt at least $limit:path} $($rest:tt)*) => {
        $crate::arch::stub!(? [$(#[$attribute])*] [
            concat!("cmp ", $crate::arch::stub_part!(argument32 $at), ", [rip + {limit}]"),
            "jae 4f",
        ] [limit = sym $limit,] $($rest)*);
    };
    ($(#[$attribute:meta])* {argument $at:tt is $one:literal or $two:literal or $three:literal} $($rest:tt)*) => {
        $crate::arch::stub!(? [$(#[$attribute])*] [
            concat!("cmp ", $crate::arch::stub_part!(argument32 $at), ", ", $one),
            "je 4f",
            concat!("cmp ", $crate::arch::stub_part!(argument32 $at), ", ", $two),
            "je 4f",
            concat!("cmp ", $crate::arch::stub_part!(argument32 $at), ", ", $three),
            "je 4f",
        ] [] $($rest)*);
    };
    ($(#[$attribute:meta])* {argument $at:tt has any of $bits:literal} $($rest:tt)*) => {
        $crate::arch::stub!(? [$(#[$attribute])*] [
            concat!("test ", $crate::arch::stub_part!(argument32 $at), ", ", $bits),
            "jnz 4f",
        ] [] $($rest)*);
    };
    // A static of 512 bits.
    ($(#[$attribute:meta])* {argument $at:tt in $set:path} $($rest:tt)*) => {
        $crate::arch::stub!(? [$(#[$attribute])*] [
            concat!("cmp ", $crate::arch::stub_part!(argument $at), ", 511"),
            "ja 3f",
            // No argument is there.
            "lea r10, [rip + {set}]",
            concat!("bt qword ptr [r10], ", $crate::arch::stub_part!(argument $at)),
            "jc 4f",
            "3:",
        ] [set = sym $set,] $($rest)*);
    };
    // Two words of thread-local storage: what is left of bytes, and behind it of calls. More than
    // `$most`, or as many as there is no number of, is not subtracted.
    ($(#[$attribute:meta])* {subtracts argument 0 from $left:literal at most $most:path} $($rest:tt)*) => {
        $crate::arch::stub!(? [$(#[$attribute])*] [
            "cmp rdi, {most}",
            "ja 4f",
            concat!("mov r10, qword ptr [rip + ", $left, "@GOTTPOFF]"),
            "sub qword ptr fs:[r10 + 8], 1",
            "js 3f",
            "sub qword ptr fs:[r10], rdi",
            "js 4f",
            "jmp r11",
            "3:",
            "sub qword ptr fs:[r10], rdi",
            "jmp 4f",
        ] [most = const $most,] $($rest)*);
    };
    ($(#[$attribute:meta])* {subtracts product from $left:literal at most $most:path} $($rest:tt)*) => {
        $crate::arch::stub!(? [$(#[$attribute])*] [
            // No argument is in these two.
            "mov rax, rdi",
            "mul rsi",
            "jo 4f",
            "cmp rax, {most}",
            "ja 4f",
            concat!("mov r10, qword ptr [rip + ", $left, "@GOTTPOFF]"),
            "sub qword ptr fs:[r10 + 8], 1",
            "js 3f",
            "sub qword ptr fs:[r10], rax",
            "js 4f",
            "jmp r11",
            "3:",
            "sub qword ptr fs:[r10], rax",
            "jmp 4f",
        ] [most = const $most,] $($rest)*);
    };
    // A static of 65 536 bytes: whether that is not 0 which the argument's upper 16 bits say, once
    // multiplied.
    ($(#[$attribute:meta])* {argument 0 times $factor:path, in $set:path} $($rest:tt)*) => {
        $crate::arch::stub!(? [$(#[$attribute])*] [
            // No argument is in these two.
            "movabs rax, {factor}",
            "imul rax, rdi",
            "shr rax, 48",
            "lea r10, [rip + {set}]",
            "cmp byte ptr [r10 + rax], 0",
            "jne 4f",
        ] [factor = const $factor, set = sym $set,] $($rest)*);
    };
    (? $attributes:tt [$($question:tt)*] $($rest:tt)*) => {
        $crate::arch::stub!(@ $attributes [
            // Not found yet: before the constructor.
            "test r11, r11",
            "jz 4f",
            $($question)*
            "jmp r11",
            "4:",
        ] $($rest)*);
    };

    (@ $attributes:tt $question:tt [$($operands:tt)*] jump $($rest:tt)*) => {
        $crate::arch::stub!(@@ $attributes $question [
            "mov r11, rax",
            $crate::arch::stub_part!(restore arguments),
            $crate::arch::stub_part!(drop frame),
            "jmp r11",
        ] [$($operands)*] $($rest)*);
    };
    (
        @ $attributes:tt $question:tt [$($operands:tt)*]
        call $name:ident = $real:path, $engaged:path, $before:path $(, $after:path)?
    ) => {
        $crate::arch::stub!(@@ $attributes $question [
            $crate::arch::stub_part!(call or jump),
            $crate::arch::stub_part!(ask $($after)?),
            $crate::arch::stub_part!(return result),
        ] [$(after = sym $after,)? $($operands)*] $name = $real, $engaged, $before);
    };
    (
        @ $attributes:tt $question:tt [$($operands:tt)*]
        hold $name:ident $(in $waits:path)? = $real:path, $engaged:path, $before:path,
        $unblocks:path $(, $after:path)?
    ) => {
        $crate::arch::stub!(@@ $attributes $question [
            $crate::arch::stub_part!(call or jump),
            $crate::arch::stub_part!(ask $($after)?),
            // Another thread may have entered a sandbox meanwhile, where this can be deadly.
            "cmp byte ptr [rip + {unblocks}], 0",
            "je 5f",
            "cmp qword ptr [rsp + 8], 0",
            "je 5f",
            "mov edi, {unblock}",
            "lea rsi, [rsp + 8]",
            "xor edx, edx",
            "mov r10d, 8",
            // For `held_wait`.
            "mov r8d, {waits_in}",
            "mov eax, {sigprocmask}",
            // The sample comes here.
            "syscall",
            // Not before, for a handler that comes here may leave by a jump. 0 stays 0: one has.
            "mov r10, qword ptr [rip + csprof_waits_under_way@GOTTPOFF]",
            "sub byte ptr fs:[r10], 1",
            "adc byte ptr fs:[r10], 0",
            "5:",
            $crate::arch::stub_part!(return result),
        ] [
            $(after = sym $after,)?
            unblocks = sym $unblocks,
            unblock = const libc::SIG_UNBLOCK,
            sigprocmask = const libc::SYS_rt_sigprocmask,
            waits_in = const $crate::arch::stub_part!(waits $($waits)?),
            $($operands)*
        ] $name = $real, $engaged, $before);
    };

    (
        @@ [$(#[$attribute:meta])*] [$($question:tt)*] [$($end:tt)*] [$($operands:tt)*]
        $name:ident = $real:path, $engaged:path, $before:path
    ) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "mov r11, qword ptr [rip + {real}]",
                "test r11, r11",
                "jz 2f",
                "cmp byte ptr [rip + {engaged}], 0",
                "jne 2f",
                "jmp r11",
                "2:",
                $($question)*
                $crate::arch::stub_part!(make frame),
                "mov rdi, rsp",
                "lea rsi, [rip + {real}]",
                "call {before}",
                $($end)*
                ".cfi_endproc",
                real = sym $real,
                engaged = sym $engaged,
                before = sym $before,
                $($operands)*
            )
        }
    };
}

/// What stubs are made of.
macro_rules! stub_part {
    // A `Call`. The stack pointer is its address, and 16-byte aligned.
    (make frame) => {
        "push rbp
         .cfi_def_cfa_offset 16
         .cfi_offset rbp, -16
         mov rbp, rsp
         .cfi_def_cfa_register rbp
         sub rsp, 192
         mov [rbp - 48], rdi
         mov [rbp - 40], rsi
         mov [rbp - 32], rdx
         mov [rbp - 24], rcx
         mov [rbp - 16], r8
         mov [rbp - 8], r9"
    };
    (restore arguments) => {
        "mov rdi, [rbp - 48]
         mov rsi, [rbp - 40]
         mov rdx, [rbp - 32]
         mov rcx, [rbp - 24]
         mov r8, [rbp - 16]
         mov r9, [rbp - 8]"
    };
    (drop frame) => {
        "leave
         .cfi_def_cfa rsp, 8
         .cfi_restore rbp"
    };
    (waits) => { $crate::arch::NO_CALL };
    (waits $call:path) => { $call as u32 };
    (ask) => { "" };
    (ask $after:path) => {
        "mov rdi, rsp
         call {after}"
    };
    // By a `Route`.
    (call or jump) => {
        concat!(
            "mov r11, rax
             test rdx, rdx\n",
            $crate::arch::stub_part!(restore arguments),
            "\njz 6f
             call r11
             mov [rbp - 56], rax"
        )
    };
    (return result) => {
        concat!(
            "mov rax, [rbp - 56]
             .cfi_remember_state\n",
            $crate::arch::stub_part!(drop frame),
            "\nret
             .cfi_restore_state
             6:\n",
            $crate::arch::stub_part!(drop frame),
            "\njmp r11"
        )
    };
    (argument 0) => { "rdi" };
    (argument32 0) => { "edi" };
    (argument32 1) => { "esi" };
    (argument32 2) => { "edx" };
}

const _: () = assert!(
    size_of::<Call>() == 192 + 16
        && offset_of!(Call, on_stack) == 0
        && offset_of!(Call, room) == 8
        && offset_of!(Call, result) == 192 - 56
        && offset_of!(Call, arguments) == 192 - 48
        && offset_of!(Call, caller) == 192 + 8
);

/// Defines an exported function `(path, arg0, …, NULL[, envp])` that calls `$gathered(path, argv)`.
///
/// Five of the arguments are in registers, the rest lie above the return address. All are copied
/// below the frame into one vector, together with one word more, which is the environment where
/// there is one. That word is read where the caller's frame is, so it exists. Like the C library's
/// own variant it allocates nothing but stack: execl is async-signal-safe, and is called in
/// children of vfork.
macro_rules! gathering_stub {
    ($(#[$attribute:meta])* $name:ident = $gathered:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                // rax: words above the return address, the null pointer included.
                "xor eax, eax",
                "test rsi, rsi",
                "jz 3f",
                "test rdx, rdx",
                "jz 3f",
                "test rcx, rcx",
                "jz 3f",
                "test r8, r8",
                "jz 3f",
                "test r9, r9",
                "jz 3f",
                "2:",
                "inc rax",
                "cmp qword ptr [rbp + 8 + rax * 8], 0",
                "jne 2b",
                "3:",
                // The word more.
                "inc rax",
                "lea r10, [rax * 8 + 5 * 8 + 15]",
                "and r10, -16",
                "sub rsp, r10",
                "mov [rsp], rsi",
                "mov [rsp + 8], rdx",
                "mov [rsp + 16], rcx",
                "mov [rsp + 24], r8",
                "mov [rsp + 32], r9",
                "4:",
                "mov rsi, [rbp + 8 + rax * 8]",
                "mov [rsp + 32 + rax * 8], rsi",
                "dec rax",
                "jnz 4b",
                "mov rsi, rsp",
                "call {gathered}",
                $crate::arch::stub_part!(drop frame),
                "ret",
                ".cfi_endproc",
                gathered = sym $gathered,
            )
        }
    };
}

/// Defines the first code of a thread, a start routine: it calls `$prepare` with its argument,
/// which returns another start routine and its argument, as two words, and becomes that one.
macro_rules! thread_start_stub {
    ($(#[$attribute:meta])* $name:ident = $prepare:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name(argument: *mut core::ffi::c_void) -> *mut core::ffi::c_void {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "call {prepare}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "mov rdi, rdx",
                "jmp rax",
                ".cfi_endproc",
                prepare = sym $prepare,
            )
        }
    };
}

pub(crate) use {gathering_stub, stub, stub_part, thread_start_stub};
