//! Functions of a few instructions, and bytes that are none.

use core::ops::Range;

use super::sweep::LARGEST;
use super::*;

/// Code, and data elsewhere.
struct Image {
    code: (u64, Vec<u8>),
    data: (u64, Vec<u8>),
    /// What other code names.
    named: Option<u64>,
}

fn at((start, bytes): &(u64, Vec<u8>), addresses: Range<u64>) -> Option<&[u8]> {
    let offset = |address: u64| usize::try_from(address.checked_sub(*start)?).ok();
    bytes.get(offset(addresses.start)?..offset(addresses.end)?)
}

impl Memory for Image {
    fn code(&self, addresses: Range<u64>) -> Option<&[u8]> {
        at(&self.code, addresses)
    }

    fn data(&self, addresses: Range<u64>) -> Option<&[u8]> {
        at(&self.data, addresses.clone()).or_else(|| self.code(addresses))
    }

    fn named_in(&self, addresses: Range<u64>) -> Option<u64> {
        self.named.filter(|named| addresses.contains(named))
    }
}

impl Image {
    fn structure(&self, pads: &[LandingPad]) -> Structure {
        let (start, code) = &self.code;
        let whole = *start..start + code.len() as u64;
        let function = Function { parts: &[whole], entry: *start, landing_pads: pads };
        Structure::of(self, &function, &|target| target == Target::Code(0xdead)).unwrap()
    }

    /// Whether it may return, in short and by all of it.
    fn may_return(&self) -> [Result<bool, TooLarge>; 2] {
        let (start, code) = &self.code;
        let whole = *start..start + code.len() as u64;
        let function = Function { parts: &[whole], entry: *start, landing_pads: &[] };
        let ways = [may_return, draft::graph_returns];
        ways.map(|way| way(self, &function, &|_| false))
    }
}

/// What is known of a function, in one text for each kind of thing.
fn told(structure: &Structure) -> [String; 4] {
    let blocks: Vec<_> = structure.blocks().collect();
    let start = |&block: &u32| format!("{:x}", blocks[block as usize].0.start);
    let graph = blocks.iter().map(|(block, to)| {
        let to: Vec<String> = to.iter().map(start).collect();
        format!("{:x}>{}", block.start, to.join(","))
    });
    let loops = structure.loops().iter().enumerate().map(|(number, found)| {
        let mark = if found.irreducible { "!" } else { "" };
        let around = found.parent.map(|parent| structure.loops()[parent].header);
        let around = around.map_or(String::new(), |around| format!("{around:x}/"));
        format!("{around}{:x}{mark}:{:x?}", found.header, structure.ranges(number))
    });
    let leaves = structure.leaves().iter().map(|leave| {
        let mark = if leave.conditional { "?" } else { "" };
        format!("{:x}{mark} {:x?}", leave.at, leave.target)
    });
    let unresolved = structure.unresolved().iter().map(|at| format!("{at:x}"));
    let join = |texts: &mut dyn Iterator<Item = String>| texts.collect::<Vec<_>>().join(" ");
    [
        join(&mut graph.into_iter()),
        join(&mut loops.into_iter()),
        join(&mut leaves.into_iter()),
        join(&mut unresolved.into_iter()),
    ]
}

/// A `switch` whose table is relative to itself, at 0x2000.
const SWITCH: &[u8] = &[
    0x83, 0xff, 0x03, // 1000 cmp $3, %edi
    0x77, 0x26, // 1003 ja 102b
    0x89, 0xff, // 1005 mov %edi, %edi
    0x48, 0x8d, 0x15, 0xf2, 0x0f, 0, 0, // 1007 lea 0x2000(%rip), %rdx
    0x48, 0x63, 0x04, 0xba, // 100e movslq (%rdx,%rdi,4), %rax
    0x48, 0x01, 0xd0, // 1012 add %rdx, %rax
    0x3e, 0xff, 0xe0, // 1015 notrack jmp *%rax
    0xff, 0xc6, // 1018 inc %esi
    0xc3, // 101a ret
    0xe9, 0xe0, 0x1f, 0, 0, // 101b jmp 3000
    0xff, 0xce, // 1020 dec %esi
    0x75, 0xfc, // 1022 jne 1020
    0x0f, 0x0b, // 1024 ud2
    0x66, 0x0f, 0x1f, 0x04, 0, // 1026 nopw (%rax,%rax)
    0xff, 0x25, 0xcf, 0x2f, 0, 0, // 102b jmp *0x4000(%rip)
];

fn relative(table: u64, targets: &[u64]) -> (u64, Vec<u8>) {
    let distances = targets.iter().map(|to| to.wrapping_sub(table) as u32);
    (table, distances.flat_map(u32::to_le_bytes).collect())
}

#[test]
fn a_switch_leads_to_its_cases() {
    let data = relative(0x2000, &[0x1018, 0x101b, 0x1020, 0x1018]);
    let image = Image { code: (0x1000, SWITCH.to_vec()), data, named: None };
    assert_eq!(
        told(&image.structure(&[])),
        [
            "1000>1005,102b 1005>1018,101b,1020 1018> 101b> 1020>1020,1024 1024> 1026>102b 102b>",
            "1020:[1020..1024]",
            "101b Code(3000) 102b Slot(4000)",
            "",
        ]
    );
}

#[test]
fn of_a_block_the_first_and_the_last_instructions_are_told() {
    // inc %esi, a hundred times nopw (%rax,%rax), dec %esi, jne to the first one, ret.
    let nops = [0x66, 0x0f, 0x1f, 0x04, 0].repeat(100);
    let code = [&[0xff, 0xc6][..], &nops, &[0xff, 0xce, 0x0f, 0x85, 0, 0, 0, 0, 0xc3]].concat();
    let mut code = (0x1000, code);
    code.1[506..510].copy_from_slice(&(-510_i32).to_le_bytes());
    let image = Image { code, data: (0, Vec::new()), named: None };
    let structure = image.structure(&[]);
    let header = structure.header(0);
    assert_eq!(header, 0x1000..0x11fe);
    let told = |most| structure.addresses(header.clone(), most);
    assert_eq!(told(4), [0x1000, 0x1002, 0x11f6, 0x11f8]);
    assert_eq!(told(3), [0x1000, 0x11f6, 0x11f8]);
    assert_eq!((told(0), told(1)), (vec![], vec![0x11f8]));
    let all = told(103);
    assert_eq!((all.len(), &all, &told(500)), (103, &told(104), &all));
    assert!(all.is_sorted_by(|a, b| a < b));
    assert!(structure.addresses(0..0x1000, 4).is_empty());
}

#[test]
fn a_table_that_is_cut_off_or_leads_into_an_instruction_is_none() {
    for targets in [&[0x1018, 0x101b, 0x1020][..], &[0x1018, 0x101b, 0x1021, 0x1018]] {
        let code = (0x1000, SWITCH.to_vec());
        let image = Image { code, data: relative(0x2000, targets), named: None };
        let [graph, .., unresolved] = told(&image.structure(&[]));
        assert!(graph.contains("1005> "), "{graph}");
        assert_eq!(unresolved, "1015");
    }
}

/// A loop around a `switch` whose table has addresses: the byte that selects them bounds them.
#[test]
fn an_interpreter_is_a_loop() {
    let code = [
        0x0f, 0xb6, 0x07, // 1000 movzbl (%rdi), %eax
        0xff, 0x24, 0xc5, 0, 0x20, 0, 0, // 1003 jmp *0x2000(,%rax,8)
        0x48, 0xff, 0xc7, // 100a inc %rdi
        0xeb, 0xf1, // 100d jmp 1000
        0xc3, // 100f ret
    ];
    let mut targets = vec![0x100a_u64; 256];
    targets[0] = 0x100f;
    let data = (0x2000, targets.into_iter().flat_map(u64::to_le_bytes).collect());
    let image = Image { code: (0x1000, code.to_vec()), data, named: None };
    let [graph, loops, _, unresolved] = told(&image.structure(&[]));
    assert_eq!((&*graph, &*unresolved), ("1000>100a,100f 100a>1000 100f>", ""));
    assert_eq!(loops, "1000:[1000..100f]");
}

/// A byte selects one of three cases, and the source says that there are no more. What stands
/// behind the table is no part of it, though it looks like one.
#[test]
fn a_table_ends_where_its_entries_lead_elsewhere_or_another_one_begins() {
    let code = [
        0x0f, 0xb6, 0x07, // 1000 movzbl (%rdi), %eax
        0xff, 0x24, 0xc5, 0, 0x20, 0, 0, // 1003 jmp *0x2000(,%rax,8)
        0x48, 0xff, 0xc7, // 100a inc %rdi
        0xeb, 0xf1, // 100d jmp 1000
        0x90, // 100f nop
        0xc3, // 1010 ret
    ];
    let cases = [
        // Code of another function, an address inside of an instruction, another table.
        (vec![0x100a, 0x1010, 0x100a, 0x9000, 0x100f], None),
        (vec![0x100a, 0x1010, 0x100a, 0x1001, 0x100f], None),
        (vec![0x100a, 0x1010, 0x100a, 0x100f, 0x100f], Some(0x2018)),
        // The table is the last there is.
        (vec![0x100a, 0x1010, 0x100a], None),
    ];
    for (targets, named) in cases {
        let data = (0x2000, targets.iter().copied().flat_map(u64::to_le_bytes).collect());
        let image = Image { code: (0x1000, code.to_vec()), data, named };
        let [graph, _, leaves, unresolved] = told(&image.structure(&[]));
        let expected = "1000>100a,1010 100a>1000 100f>1010 1010>";
        assert_eq!(
            (&*graph, &*leaves, &*unresolved),
            (expected, "", ""),
            "{targets:x?} {named:x?}"
        );
    }
}

/// A `goto *` through a table that nothing bounds.
#[test]
fn a_table_of_addresses_ends_where_one_is_no_code_of_the_function() {
    let code = [
        0x8b, 0x07, // 1000 mov (%rdi), %eax
        0xff, 0x24, 0xc5, 0, 0x20, 0, 0, // 1002 jmp *0x2000(,%rax,8)
        0x48, 0xff, 0xc7, // 1009 inc %rdi
        0xeb, 0xf2, // 100c jmp 1000
        0xc3, // 100e ret
    ];
    let data = [0x1009_u64, 0x100e, 0x1009, 0, 0x1009].map(u64::to_le_bytes).concat();
    let image = Image { code: (0x1000, code.to_vec()), data: (0x2000, data), named: None };
    let [graph, _, _, unresolved] = told(&image.structure(&[]));
    assert_eq!((&*graph, &*unresolved), ("1000>1009,100e 1009>1000 100e>", ""));
}

/// A table of functions, of which the first is the one that jumps.
#[test]
fn a_table_of_functions_is_no_loop() {
    let code = [
        0x8b, 0x07, // 1000 mov (%rdi), %eax
        0xff, 0x24, 0xc5, 0, 0x20, 0, 0, // 1002 jmp *0x2000(,%rax,8)
    ];
    for targets in [&[0x1000_u64, 0x9000][..], &[0x1000, 0x1000, 0x9000], &[0x1000]] {
        let data = targets.iter().copied().flat_map(u64::to_le_bytes).collect();
        let image = Image { code: (0x1000, code.to_vec()), data: (0x2000, data), named: None };
        let [graph, loops, _, unresolved] = told(&image.structure(&[]));
        assert_eq!((&*graph, &*loops, &*unresolved), ("1000>", "", "1002"), "{targets:x?}");
    }
}

/// What is named within a table may be another one, or bytes of code that look like an address.
#[test]
fn a_bounded_table_that_is_named_elsewhere_is_not_understood() {
    let data = relative(0x2000, &[0x1018, 0x101b, 0x1020, 0x1018]);
    let image = Image { code: (0x1000, SWITCH.to_vec()), data, named: Some(0x2008) };
    let [graph, .., unresolved] = told(&image.structure(&[]));
    assert!(graph.contains("1005> "), "{graph}");
    assert_eq!(unresolved, "1015");
}

/// Nothing bounds the table, and it ends with its third entry: no more of it is read than that
/// takes, unless it is longer.
#[test]
fn a_table_is_read_as_far_as_it_goes() {
    struct Read(Image, core::cell::Cell<u64>);
    impl Memory for Read {
        fn code(&self, addresses: Range<u64>) -> Option<&[u8]> {
            self.0.code(addresses)
        }

        fn data(&self, addresses: Range<u64>) -> Option<&[u8]> {
            self.1.set(self.1.get() + addresses.end - addresses.start);
            self.0.data(addresses)
        }

        fn named_in(&self, _: Range<u64>) -> Option<u64> {
            None
        }
    }
    let code = [
        0x8b, 0x07, // 1000 mov (%rdi), %eax
        0xff, 0x24, 0xc5, 0, 0x20, 0, 0, // 1002 jmp *0x2000(,%rax,8)
        0x48, 0xff, 0xc7, // 1009 inc %rdi
        0xeb, 0xf2, // 100c jmp 1000
        0xc3, // 100e ret
    ];
    for (entries, most) in [(3, 2 * 512), (300, 8 * 512)] {
        let mut targets = vec![0x1009_u64; entries];
        targets.extend([0x100e, 0]);
        targets.resize(1 << 16, 0x1009);
        let data = (0x2000, targets.into_iter().flat_map(u64::to_le_bytes).collect());
        let image = Image { code: (0x1000, code.to_vec()), data, named: None };
        let memory = Read(image, core::cell::Cell::new(0));
        let range = 0x1000..0x100f;
        let function = Function { parts: &[range], entry: 0x1000, landing_pads: &[] };
        let structure = Structure::of(&memory, &function, &|_| false).unwrap();
        assert_eq!(told(&structure)[0], "1000>1009,100e 1009>1000 100e>");
        assert!(memory.1.get() <= most, "{entries} entries: {} bytes", memory.1.get());
    }
}

/// Two places select an entry, and share the jump.
#[test]
fn a_jump_that_is_shared_leads_where_each_way_leads() {
    let code = [
        0x8b, 0x07, // 1000 mov (%rdi), %eax
        0x48, 0x8b, 0x04, 0xc5, 0, 0x20, 0, 0, // 1002 mov 0x2000(,%rax,8), %rax
        0xff, 0xe0, // 100a jmp *%rax
        0x8b, 0x47, 0x04, // 100c mov 4(%rdi), %eax
        0x48, 0x8b, 0x04, 0xc5, 0, 0x20, 0, 0, // 100f mov 0x2000(,%rax,8), %rax
        0xeb, 0xf1, // 1017 jmp 100a
        0xc3, // 1019 ret
    ];
    let data = [0x100c_u64, 0x1019, 0].map(u64::to_le_bytes).concat();
    let image = Image { code: (0x1000, code.to_vec()), data: (0x2000, data), named: None };
    let [graph, loops, leaves, unresolved] = told(&image.structure(&[]));
    assert_eq!(graph, "1000>100a 100a>100c,1019 100c>100a 1019>");
    assert_eq!((&*loops, &*leaves, &*unresolved), ("100a:[100a..1019]", "", ""));
}

/// What nothing leads to enters no loop, unless a jump may lead there.
#[test]
fn dead_code_enters_no_loop() {
    let code = [
        0xff, 0xc9, // 1000 dec %ecx
        0xff, 0xc0, // 1002 inc %eax
        0x75, 0xfa, // 1004 jne 1000
        0xc3, // 1006 ret
        0xff, 0xc2, // 1007 inc %edx
        0xeb, 0xf7, // 1009 jmp 1002
        0xff, 0xe0, // 100b jmp *%rax
    ];
    for (length, loops) in [(11, "1000:[1000..1006]"), (13, "1000!:[1000..1006]")] {
        let code = (0x1000, code[..length].to_vec());
        let image = Image { code, data: (0, Vec::new()), named: None };
        assert_eq!(told(&image.structure(&[]))[1], loops);
    }
}

/// What goes on in the next function may return there; behind a call the end is never reached.
#[test]
fn what_falls_off_its_end_may_return() {
    let cases: [(&[u8], bool); 5] = [
        (&[0x85, 0xff], true),                                // test %edi, %edi
        (&[0x74, 0xfe], true),                                // je to itself
        (&[0xe8, 0, 0, 0x10, 0], false),                      // call
        (&[0xe8, 0, 0, 0x10, 0, 0x0f, 0x1f, 0x40, 0], false), // call; nop
        (&[0x85, 0xff, 0x0f, 0x0b], false),                   // test %edi, %edi; ud2
    ];
    for (code, expected) in cases {
        let code = (0x1000, code.to_vec());
        let image = Image { code, data: (0, Vec::new()), named: None };
        assert_eq!(image.may_return(), [Ok(expected); 2], "{:x?}", image.code.1);
    }
}

/// A way that leads there tells that a function returns, and else all of it has to be known: jumps
/// through a table, and what landing pads lead to.
#[test]
fn a_function_returns_if_a_way_leads_to_a_return() {
    let cases: [(&[u8], bool, bool); 7] = [
        (&[0xc3], true, true),
        (&[0x74, 0x02, 0x0f, 0x0b, 0xc3], true, true), // je over ud2
        (&[0xeb, 0x01, 0xc3, 0x0f, 0x0b], false, false), // jmp over ret; ud2
        (&[0xeb, 0xfe, 0xc3], false, false),           // jmp to itself
        (&[0xeb, 0x01, 0xb8, 0xc3, 0, 0, 0, 0x0f, 0x0b], true, true), // into an instruction
        (&[0xe9, 0, 0x10, 0, 0], false, true),         // jmp elsewhere
        (&[0xff, 0xe0], false, true),                  // jmp *%rax
    ];
    for (code, shown, expected) in cases {
        let image = Image { code: (0x1000, code.to_vec()), data: (0, Vec::new()), named: None };
        assert_eq!(sweep::reaches_return(0x1000, code), shown, "{code:x?}");
        assert_eq!(image.may_return(), [Ok(expected); 2], "{code:x?}");
    }
}

/// A function, and what it jumps to: each part is decoded once, and what is found is the same.
#[test]
fn a_part_that_becomes_known_is_added() {
    struct Counted(Image, core::cell::RefCell<Vec<Range<u64>>>);
    impl Memory for Counted {
        fn code(&self, addresses: Range<u64>) -> Option<&[u8]> {
            self.1.borrow_mut().push(addresses.clone());
            self.0.code(addresses)
        }
        fn data(&self, addresses: Range<u64>) -> Option<&[u8]> {
            self.0.data(addresses)
        }
        fn named_in(&self, addresses: Range<u64>) -> Option<u64> {
            self.0.named_in(addresses)
        }
    }
    let code = [
        0xff, 0xc8, // 1000 dec %eax
        0x75, 0x0c, // 1002 jne 1010
        0xff, 0xc9, // 1004 dec %ecx
        0x75, 0xf8, // 1006 jne 1000
        0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, // 1008 ret
        0xff, 0xc2, // 1010 inc %edx
        0x74, 0xec, // 1012 je 1000
        0xe9, 0xe7, 0x0f, 0, 0, // 1014 jmp 2000
    ];
    let image = Image { code: (0x1000, code.to_vec()), data: (0, Vec::new()), named: None };
    let memory = Counted(image, core::cell::RefCell::default());
    let parts = [0x1000..0x1009, 0x1010..0x1019];
    let function = |parts| Function { parts, entry: 0x1000, landing_pads: &[] };
    let never_returns = |_| false;
    let mut draft = Draft::new(&memory, &function(&parts[..1])).unwrap();
    assert_eq!(draft.jumps_out(&never_returns), Ok(vec![0x1010]));
    let mut draft = draft.with(&function(&parts)).unwrap();
    assert_eq!(draft.jumps_out(&never_returns), Ok(vec![0x2000]));
    let structure = Structure::of_draft(draft, &never_returns).unwrap();
    assert_eq!(*memory.1.borrow(), parts);
    let whole = Structure::of(&memory, &function(&parts), &never_returns).unwrap();
    assert_eq!(told(&structure), told(&whole));
    assert_eq!(told(&structure)[1], "1000:[1000..1008, 1010..1014]");
    // From the part that comes second.
    let draft = Draft::new(&memory, &function(&parts[1..])).unwrap();
    let draft = draft.with(&function(&parts)).unwrap();
    let structure = Structure::of_draft(draft, &never_returns).unwrap();
    assert_eq!(told(&structure), told(&whole));
}

/// A call with a landing pad that goes on in the loop, one that never returns, and a jump behind a
/// `lock` prefix.
#[test]
fn calls_lead_to_landing_pads_and_may_never_return() {
    let code = [
        0xe8, 0xfb, 0x1f, 0, 0, // 1000 call 3000
        0xff, 0xc9, // 1005 dec %ecx
        0x75, 0xf7, // 1007 jne 1000
        0xe8, 0x9f, 0xce, 0, 0, // 1009 call dead
        0xff, 0xc0, // 100e inc %eax
        0x74, 0xee, // 1010 je 1000
        0x74, 0x01, // 1012 je 1015
        0xf0, 0xff, 0x07, // 1014 lock incl (%rdi)
        0xc3, // 1017 ret
    ];
    let image = Image { code: (0x1000, code.to_vec()), data: (0, Vec::new()), named: None };
    let pads = [LandingPad { calls: 0x1000..0x1005, pad: 0x100e }];
    let [graph, loops, ..] = told(&image.structure(&pads));
    assert_eq!(graph, "1000>1005,100e 1005>1000,1009 1009> 100e>1000,1012 1012>1014 1014>");
    assert_eq!(loops, "1000:[1000..1009, 100e..1012]");
}

/// Random bytes, among them jumps and tables, at ordinary and at the last addresses.
#[test]
fn bytes_that_are_no_code_do_no_harm() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut loops = 0;
    for round in 0..300_u64 {
        let mut code: Vec<u8> = (0..4096).map(|_| random() as u8).collect();
        for _ in 0..random() % 64 {
            let piece: &[u8] = match random() % 6 {
                0 => &[0x74, random() as u8],
                1 => &[0xeb, random() as u8],
                2 => &[0xe8, random() as u8, random() as u8, 0, 0],
                3 => &SWITCH[..0x18],
                4 => &[0x0f, 0xb6, 0x07, 0xff, 0x24, 0xc5, 0, 0x10, 0, 0],
                _ => &[0x90; 16],
            };
            let place = (random() % 4000) as usize;
            code[place..place + piece.len()].copy_from_slice(piece);
        }
        let start = if round % 3 == 0 { u64::MAX - 4096 } else { 0x1000 };
        let image =
            Image { code: (start, code), data: (0x2000, vec![round as u8; 2048]), named: None };
        let pads: Vec<LandingPad> = (0..8)
            .map(|_| {
                let calls = start + random() % 4096;
                LandingPad { calls: calls..calls.saturating_add(99), pad: random() % 9000 }
            })
            .collect();
        let structure = image.structure(&pads);
        loops += structure.loops().len();
        let [short, whole] = image.may_return();
        assert_eq!(short, whole);
        for address in (0..4096).map(|offset| start + offset) {
            let depth = structure.loops_at(address).len();
            assert!(depth <= structure.loops().len());
        }
        for number in 0..structure.loops().len() {
            let header = structure.loops()[number].header;
            assert!(structure.ranges(number).iter().any(|range| range.contains(&header)));
            assert!(structure.loops_at(header).contains(&number));
        }
    }
    assert!(loops > 1000, "{loops}");
}

#[test]
fn what_is_too_large_is_refused() {
    let image = Image { code: (0x1000, vec![0x90; 16]), data: (0, Vec::new()), named: None };
    let part = 0x1000..0x1000 + LARGEST + 1;
    let function = Function { parts: &[part], entry: 0x1000, landing_pads: &[] };
    assert_eq!(Structure::of(&image, &function, &|_| false).err(), Some(TooLarge));
    // So many loops in each other: forward through inc, back through as many jumps.
    let depth = DEEPEST as usize + 1;
    let mut code = vec![0x90; depth];
    for number in 0..depth {
        let (at, target) = (code.len() + 6, depth - 1 - number);
        let distance = (target as i64 - at as i64) as i32;
        code.extend([0x0f, 0x84]);
        code.extend(distance.to_le_bytes());
    }
    for (cut, expected) in [(6, false), (0, true)] {
        let code = code[..code.len() - cut].to_vec();
        let range = 0x1000..0x1000 + code.len() as u64;
        let image = Image { code: (0x1000, code), data: (0, Vec::new()), named: None };
        let function = Function { parts: &[range], entry: 0x1000, landing_pads: &[] };
        assert_eq!(Structure::of(&image, &function, &|_| false).is_err(), expected);
    }
}
