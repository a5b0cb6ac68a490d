//! Loops around addresses, of programs whose nests are known.

use std::collections::BTreeSet;

use csprof_format::ids::FrameId;

use crate::build::{Binary, Resolved, Workshop, run};

impl Resolved {
    /// The loops that a frame lies in as `row file:line`, outermost first; files without folders,
    /// `header` where there is no line.
    fn loops(&self, frame: usize) -> Vec<String> {
        let structure = &self.profile.structure;
        let entries = structure.loops_of(FrameId::from_index(frame));
        structure.in_loops[entries]
            .iter()
            .map(|entry| {
                let found = &structure.loops[entry.number as usize];
                let file = found.file.map_or("header", |file| self.string(file));
                let file = file.rsplit('/').next().unwrap();
                let mark = if found.irreducible { "!" } else { "" };
                format!("{} {file}:{}{mark}", entry.row, found.line)
            })
            .collect()
    }

    /// All chains of loops in which some frame lies, without those of others that are longer.
    fn nests(&self) -> BTreeSet<Vec<String>> {
        let frames = 0..self.profile.frames.len();
        let chains: BTreeSet<Vec<String>> = frames.map(|frame| self.loops(frame)).collect();
        let is_inner = |chain: &Vec<String>| {
            !chains.iter().any(|other| other.len() > chain.len() && other.starts_with(chain))
        };
        chains.iter().filter(|chain| is_inner(chain)).cloned().collect()
    }
}

fn nests(compiler: &str, source: &str, function: &str, flags: &[&str]) -> Option<Resolved> {
    let shop = Workshop::new();
    let path = shop.compile(compiler, "nest", source, &[&["-g"], flags].concat())?;
    let binary = Binary::open(&path);
    Some(Resolved::pcs(&binary, &binary.code(function)))
}

/// Chains of the loops of one file, as the lines where each begins: with what was inlined, `row:`.
fn lines(resolved: &Resolved) -> BTreeSet<Vec<String>> {
    let line = |place: &String| {
        let (row, place) = place.split_once(' ').unwrap();
        let line = place.rsplit(':').next().unwrap();
        if row == "0" { line.to_owned() } else { format!("{row}:{line}") }
    };
    resolved.nests().iter().map(|chain| chain.iter().map(line).collect()).collect()
}

fn expected(chains: &[&[&str]]) -> BTreeSet<Vec<String>> {
    chains.iter().map(|chain| chain.iter().map(|&line| line.to_owned()).collect()).collect()
}

/// What is told of a loop without the line that counts, which optimizers may leave out: the line
/// of what is repeated.
fn with_heads(chains: BTreeSet<Vec<String>>, heads: &[(&str, &str)]) -> BTreeSet<Vec<String>> {
    let head = |line: String| {
        heads.iter().find(|(body, _)| line == *body).map_or(line, |(_, head)| (*head).to_owned())
    };
    chains.into_iter().map(|chain| chain.into_iter().map(head).collect()).collect()
}

/// As they are written, moved, vectorized, unrolled, and vectorized for wide registers.
const LEVELS: [&[&str]; 6] = [
    &["-O0"],
    &["-O1"],
    &["-O2"],
    &["-O3"],
    &["-O3", "-funroll-loops"],
    &["-O3", "-march=x86-64-v3"],
];

const MATRICES: &str = "\
extern \"C\" void multiply(int n, const double *a, const double *b, double *c) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) {
                sum += a[i * n + k] * b[k * n + j];
            }
            c[i * n + j] = sum;
        }
    }
}
int main(int argc, char **argv) {
    static double a[64], b[64], c[64];
    multiply(argc, a, b, c);
    return (int)c[0];
}
";

const MATRICES_FORTRAN: &str = "\
subroutine multiply(n, a, b, c)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n, n), b(n, n)
    real(8), intent(inout) :: c(n, n)
    integer :: i, j, k
    do j = 1, n
        do i = 1, n
            do k = 1, n
                c(i, j) = c(i, j) + a(i, k) * b(k, j)
            end do
        end do
    end do
end subroutine
program main
    real(8) :: a(8, 8), b(8, 8), c(8, 8)
    a = 1
    b = 2
    c = 0
    call multiply(8, a, b, c)
    print *, c(1, 1)
end program
";

#[test]
fn a_matrix_product_is_three_loops() {
    let c = MATRICES.replace("extern \"C\" ", "");
    let in_c = (&[("6", "5")][..], ["2", "3", "5"]);
    let in_fortran = (&[("9", "8")][..], ["6", "7", "8"]);
    for (compiler, source, function, (heads, chain)) in [
        ("cc", &*c, "multiply", in_c),
        ("clang", &*c, "multiply", in_c),
        ("g++", MATRICES, "multiply", in_c),
        ("gfortran", MATRICES_FORTRAN, "multiply_", in_fortran),
    ] {
        for level in LEVELS {
            let Some(resolved) = nests(compiler, source, function, level) else { break };
            let found = with_heads(lines(&resolved), heads);
            assert_eq!(found, expected(&[&chain]), "{compiler} {level:?}: {:?}", resolved.nests());
        }
    }
}

const STENCIL: &str = "\
void step(int n, int m, double in[n][m], double out[n][m]) {
    for (int t = 0; t < 100; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                out[i][j] = 0.25 * (in[i - 1][j] + in[i + 1][j] + in[i][j - 1] + in[i][j + 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                in[i][j] = 0.5 * out[i][j];
    }
}
int main(int argc, char **argv) {
    static double a[64][64], b[64][64];
    step(argc, argc, a, b);
    return (int)b[1][1];
}
";

const STENCIL_CPP: &str = "\
#include <vector>
struct Grid {
    int n, m;
    std::vector<double> values;
    double &at(int i, int j) { return values[i * m + j]; }
};
extern \"C\" __attribute__((noinline)) void step(Grid &in, Grid &out) {
    for (int t = 0; t < 100; t++) {
        for (int i = 1; i < in.n - 1; i++)
            for (int j = 1; j < in.m - 1; j++)
                out.at(i, j) = 0.25 * (in.at(i - 1, j) + in.at(i + 1, j) + in.at(i, j + 1));
        for (int i = 1; i < in.n - 1; i++)
            for (int j = 1; j < in.m - 1; j++)
                in.at(i, j) = 0.5 * out.at(i, j);
    }
}
int main(int n, char **) {
    Grid a{n, n, std::vector<double>(n * n)}, b = a;
    step(a, b);
    return (int)b.at(0, 0);
}
";

const STENCIL_FORTRAN: &str = "\
subroutine step(n, m, a, b)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n, m), b(n, m)
    integer :: i, j, t
    do t = 1, 100
        do j = 2, m - 1
            do i = 2, n - 1
                b(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
            end do
        end do
        do j = 2, m - 1
            do i = 2, n - 1
                a(i, j) = 0.5d0 * b(i, j)
            end do
        end do
    end do
end subroutine
program main
    real(8) :: a(8, 8), b(8, 8)
    a = 1
    b = 2
    call step(8, 8, a, b)
    print *, b(1, 1)
end program
";

#[test]
fn a_stencil_is_two_nests_in_one_loop() {
    let in_c = (&[("5", "4"), ("8", "7")], [["2", "3", "4"], ["2", "6", "7"]]);
    let in_cpp = (&[("11", "10"), ("14", "13")], [["8", "9", "10"], ["8", "12", "13"]]);
    let in_fortran = (&[("8", "7"), ("13", "12")], [["5", "6", "7"], ["5", "11", "12"]]);
    for (compiler, source, function, (heads, chains)) in [
        ("cc", STENCIL, "step", in_c),
        ("clang", STENCIL, "step", in_c),
        ("g++", STENCIL_CPP, "step", in_cpp),
        ("gfortran", STENCIL_FORTRAN, "step_", in_fortran),
    ] {
        for level in LEVELS {
            let Some(resolved) = nests(compiler, source, function, level) else { break };
            let found = with_heads(lines(&resolved), heads);
            let chains = expected(&[&chains[0], &chains[1]]);
            assert_eq!(found, chains, "{compiler} {level:?}: {:?}", resolved.nests());
        }
    }
}

/// A loop stands below the row of the function that it is written in: `sum` is inlined. The
/// condition of its `for` is inlined from elsewhere, and is none of its places.
#[test]
fn a_loop_stands_where_it_is_written() {
    let source = "\
#include <vector>
inline double sum(const std::vector<double> &v) {
    double s = 0;
    for (double x : v) {
        s += x * s;
    }
    return s;
}
extern \"C\" __attribute__((noinline)) double step(std::vector<double> &in, int n) {
    double total = 0;
    for (int t = 0; t < n; t++) {
        total += sum(in);
        for (const auto &x : in) {
            if (x > 3) __builtin_printf(\"%f\", x);
        }
    }
    return total;
}
int main(int argc, char **) {
    std::vector<double> v(argc);
    return (int)step(v, argc);
}
";
    // Unless optimized, what would be inlined is called.
    for level in &LEVELS[1..4] {
        let Some(resolved) = nests("g++", source, "step", level) else { return };
        let chains = expected(&[&["11", "1:4"], &["11", "13"]]);
        assert_eq!(lines(&resolved), chains, "{level:?}: {:?}", resolved.nests());
        assert!(resolved.nests().iter().flatten().all(|place| place.contains("nest.cc")));
    }
}

/// The loop in the handler lies in the one around the call: an exception leads there.
#[test]
fn exceptions_lead_on_in_loops() {
    let source = "\
extern \"C\" int parse(int x);
extern \"C\" __attribute__((noinline)) int handle(int n, const volatile char *p) {
    int total = 0;
    for (int i = 0; i < n; i++) {
        try {
            total += parse(i);
        } catch (int e) {
            while (*p) { total += *p++; }
        }
    }
    return total;
}
extern \"C\" __attribute__((noinline)) int parse(int x) { if (x & 1) throw x; return x; }
int main(int argc, char **argv) { return handle(argc, argv[0]); }
";
    let flags = ["-O1", "-fno-reorder-blocks-and-partition"];
    let Some(resolved) = nests("g++", source, "handle", &flags) else { return };
    assert_eq!(lines(&resolved), expected(&[&["4", "8"]]), "{:?}", resolved.nests());
}

/// The handler leads back into the loop; what stands straight behind the call is not in it.
#[test]
fn what_follows_a_loop_around_a_handler_is_no_part_of_it() {
    let source = "\
extern \"C\" __attribute__((noipa)) int attempt(int n) { if (n < 2) throw n; return n; }
extern \"C\" __attribute__((noipa)) void work(int n) { for (volatile int i = 0; i < n; i++); }
extern \"C\" __attribute__((noipa)) int retry(int k) {
    int x;
    for (;;) try {
        x = attempt(k++);
        break;
    } catch (...) {}
    work(x);
    work(x + 1);
    return x;
}
int main(int argc, char **) { return retry(argc); }
";
    for level in ["-O1", "-O2"] {
        let Some(resolved) = nests("g++", source, "retry", &[level]) else { return };
        let at = |line: &str| {
            let frames = (0..resolved.profile.frames.len()).filter(|&frame| {
                resolved.rows(frame).last().is_some_and(|row| row.ends_with(line))
            });
            frames.map(|frame| resolved.loops(frame)).collect::<Vec<_>>()
        };
        assert!(!resolved.nests().is_empty() && !at(".cc:9").is_empty(), "{level}");
        for line in [".cc:9", ".cc:10", ".cc:11"] {
            assert!(at(line).iter().all(Vec::is_empty), "{level} {line}: {:?}", at(line));
        }
        assert!(at(".cc:6").iter().any(|loops| !loops.is_empty()), "{level}");
    }
}

/// Of five values out of sixteen the table has five entries, and behind it stands another one.
#[test]
fn a_mask_is_no_end_of_a_table() {
    let source = "\
volatile int sink;
__attribute__((noipa)) void a(int x) { sink = x; }
__attribute__((noipa)) void b(int x) { sink = x + 1; }
__attribute__((noipa)) int two(unsigned x, int n) {
    switch (x & 15) {
        case 0: a(1); return 3;
        case 1: a(2); a(9); break;
        case 2: b(1); break;
        case 3: b(2); return 7;
        case 4: a(3); b(4); return 8;
        default: __builtin_unreachable();
    }
    for (int k = 0; k < 60; k++) {
        switch (n & 31) {
            case 0: sink = 1; break;
            case 1: sink = 3; sink = 5; break;
            case 2: b(9); b(3); break;
            case 3: sink = 7; a(5); break;
            case 4: b(99); a(4); break;
            case 5: b(3); break;
            case 6: b(9); a(9); break;
            case 7: case 8: case 9: b(1); break;
            case 10: b(12); a(2); break;
            default: b(33);
        }
        n = sink + k;
    }
    return 1;
}
int main(int argc, char **argv) { return two(argc, argc); }
";
    for flags in [["-O2", "-pie"], ["-O2", "-no-pie"]] {
        let Some(resolved) = nests("cc", source, "two", &flags) else { return };
        assert_eq!(lines(&resolved), expected(&[&["13"]]), "{flags:?}");
        assert!(resolved.nests().iter().flatten().all(|place| !place.ends_with('!')), "{flags:?}");
    }
}

/// `goto *` through a table that nothing bounds; optimizers make one jump of several, or several
/// of one, and then the loop is entered at each label.
#[test]
fn an_interpreter_of_labels_is_a_loop() {
    let source = "\
int run(const unsigned *code, int x) {
    static const void *const labels[] = {&&stop, &&add, &&shift, &&back, &&stop};
    const unsigned *start = code;
    goto *labels[*code];
add: x += code[1]; code += 2; goto *labels[*code];
shift: x ^= x << 3; code++; goto *labels[*code];
back: if (x < 100000) code = start; else code++; goto *labels[*code];
stop: return x;
}
int main(int c, char **v) { unsigned p[] = {1, 2, 2, 1, 3, 3, 0}; return run(p, c) == 0; }
";
    for compiler in ["cc", "clang"] {
        for level in ["-O2", "-O3"] {
            let Some(resolved) = nests(compiler, source, "run", &[level]) else { break };
            let in_loop = |line: &str| {
                let mut frames = 0..resolved.profile.frames.len();
                frames.any(|frame| {
                    let rows = resolved.rows(frame);
                    rows.last().is_some_and(|row| row.ends_with(line))
                        && !resolved.loops(frame).is_empty()
                })
            };
            for line in [".c:5", ".c:6", ".c:7"] {
                assert!(in_loop(line), "{compiler} {level} {line}: {:?}", resolved.nests());
            }
        }
    }
}

#[test]
fn a_loop_that_is_jumped_into_says_so() {
    let source = "\
int rand(void);
__attribute__((noinline)) int walk(int n, int k) {
    int s = 0;
    if (k) goto middle;
    do {
        s += rand();
middle:
        s ^= rand();
        do { s += n; if (s == 17) goto out; } while (rand() & 3);
    } while (s < n);
out:
    return s;
}
int main(int c, char **v) { return walk(c, c & 1); }
";
    let Some(resolved) = nests("cc", source, "walk", &["-O1"]) else { return };
    let places = ["0 nest.c:6!", "0 nest.c:9"].map(str::to_owned).to_vec();
    assert_eq!(resolved.nests(), BTreeSet::from([places]));
}

/// Without lines a loop is known by its module and header.
#[test]
fn loops_of_a_stripped_file_have_no_lines() {
    let shop = Workshop::new();
    let source = MATRICES.replace("extern \"C\" ", "");
    let Some(path) = shop.compile("cc", "bare", &source, &["-O1"]) else { return };
    let addresses = Binary::open(&path).code("multiply");
    let Some(_) = run("strip", &[&path], "") else { return };
    let resolved = Resolved::pcs(&Binary::open(&path), &addresses);
    let header = "0 header:0".to_owned();
    assert_eq!(resolved.nests(), BTreeSet::from([vec![header; 3]]));
    let loops = &resolved.profile.structure.loops;
    assert!(loops.iter().all(|found| addresses.contains(&found.offset)));
}

/// What was found once stays when the file is gone.
#[test]
fn loops_stay_when_a_file_is_gone() {
    let shop = Workshop::new();
    let source = MATRICES.replace("extern \"C\" ", "");
    let Some(path) = shop.compile("cc", "gone", &source, &["-g", "-O1"]) else { return };
    let binary = Binary::open(&path);
    let first = Resolved::pcs(&binary, &binary.code("multiply"));
    std::fs::remove_file(&path).unwrap();
    let again = Resolved::with_debug_folders(first.profile.clone(), &[]);
    assert_eq!(again.nests(), first.nests());
    assert!(!again.nests().is_empty());
}

/// Debug symbols that are found when the program is gone give names, and cost no loops.
#[test]
fn loops_stay_when_debug_symbols_come_without_the_file() {
    let shop = Workshop::new();
    let source = MATRICES.replace("extern \"C\" ", "");
    let flags = ["-g", "-O1", "-Wl,--build-id"];
    let Some(path) = shop.compile("cc", "apart", &source, &flags) else { return };
    let binary = Binary::open(&path);
    let addresses = binary.code("multiply");
    let id: String = binary.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
    let debug = shop.write(&format!("debug/.build-id/{}/{}.debug", &id[..2], &id[2..]), "");
    let Some(_) = run("objcopy", &["--only-keep-debug", &path, &debug], "") else { return };
    let Some(_) = run("strip", &[&path], "") else { return };
    let first = Resolved::pcs(&Binary::open(&path), &addresses);
    assert!(!first.nests().is_empty());
    std::fs::remove_file(&path).unwrap();
    let again = Resolved::with_debug_folders(first.profile.clone(), &[&shop.path("debug")]);
    assert_eq!((first.source().0, again.source().0), ("stripped", "dwarf"));
    assert!(again.names().iter().all(|name| *name == "multiply"), "{:?}", again.names());
    assert_eq!(again.nests(), first.nests());
}

/// A profile of a version that knew no loops gets them, if it is certain that the file is the same.
#[test]
fn names_without_loops_get_them_by_the_build_id() {
    let shop = Workshop::new();
    let source = MATRICES.replace("extern \"C\" ", "");
    let flags = ["-g", "-O1", "-Wl,--build-id"];
    let Some(path) = shop.compile("cc", "later", &source, &flags) else { return };
    let binary = Binary::open(&path);
    let first = Resolved::pcs(&binary, &binary.code("multiply"));
    let mut profile = first.profile.clone();
    profile.structure = csprof_format::profile::Structure::default();
    let again = Resolved::with_debug_folders(profile.clone(), &[]);
    assert!(!again.nests().is_empty());
    assert_eq!(again.profile, first.profile);
    profile.modules[0].build_id.clear();
    let unsure = Resolved::with_debug_folders(profile, &[]);
    assert_eq!(unsure.nests(), BTreeSet::from([vec![]]));
}

/// A function of the program returns if its instructions do, whatever it is called.
#[test]
fn a_name_of_the_runtime_says_nothing_of_the_programs_own_function() {
    let source = "\
volatile int errors, q;
__attribute__((noinline)) void __chk_fail(int k) { errors += k; }
__attribute__((noinline)) void step(int k) {
    for (int i = 0; i < k; i++) {
        q += i;
        __chk_fail(i);
    }
}
int main(int c, char **v) { step(c); return 0; }
";
    let Some(resolved) = nests("cc", source, "step", &["-O1"]) else { return };
    assert_eq!(lines(&resolved), expected(&[&["4"]]));
}

/// The headers of the loops of a function, as distances from a symbol, of a program in assembly.
fn headers(source: &str, base: &str, asked: &[&str], of: &str) -> Option<Vec<u64>> {
    let shop = Workshop::new();
    let source = source.replace('\n', "\\n");
    let text = format!("int main(void) {{ return 0; }}\n__asm__(\".text\\n{source}\");");
    let path = shop.compile("cc", "nest", &text, &[])?;
    let binary = Binary::open(&path);
    let mut addresses: Vec<u64> = asked.iter().flat_map(|symbol| binary.code(symbol)).collect();
    addresses.sort_unstable();
    let resolved = Resolved::pcs(&binary, &addresses);
    assert_eq!(resolved.warnings, [""; 0]);
    let structure = &resolved.profile.structure;
    let own = binary.code(of);
    let frames = (0..addresses.len()).filter(|&frame| own.contains(&addresses[frame]));
    let entries = frames.flat_map(|frame| structure.loops_of(FrameId::from_index(frame)));
    let base = binary.address(base);
    let loops = entries.map(|entry| structure.in_loops[entry].number as usize);
    let headers: BTreeSet<u64> =
        loops.map(|number| structure.loops[number].offset - base).collect();
    Some(headers.into_iter().collect())
}

fn function(name: &str, body: &str) -> String {
    format!(".type {name}, @function\n{name}: {body}\n.size {name}, . - {name}\n")
}

/// Each function of a chain jumps to the next, and the last one never returns: neither does the
/// first, whichever of them was looked at before.
#[test]
fn what_a_long_chain_of_jumps_never_returns_to_is_no_loop() {
    let mut source = function("b", "call f9\nret");
    source += &function("a", "mov $9, %ebx\n1: call f0\ndec %ebx\njnz 1b\nret");
    for number in 0..12 {
        source += &function(&format!("f{number}"), &format!("jmp f{}", number + 1));
    }
    source += &function("f12", "ud2");
    for asked in [&["a"][..], &["a", "b"]] {
        let Some(headers) = headers(&source, "a", asked, "a") else { return };
        assert!(headers.is_empty(), "{asked:?}: {headers:x?}");
    }
}

/// A part that two functions share lies in the loops of the same one, whichever was sampled.
#[test]
fn a_part_of_two_functions_is_that_of_one_of_them() {
    let body = "mov $9, %edi\n1: test %esi, %esi\njne x.cold\n2: dec %edi\njnz 1b\nret";
    let other = body.replace("2:", ".Lin_b:");
    let cold = "inc %eax\njs .Lin_b\njmp .Lin_a";
    let source = function("a", &body.replace("2:", ".Lin_a:"))
        + &function("b", &other)
        + &function("x.cold", cold);
    for asked in [&["x.cold"][..], &["b", "x.cold"], &["a", "x.cold"], &["a", "b", "x.cold"]] {
        let Some(headers) = headers(&source, "a", asked, "x.cold") else { return };
        assert_eq!(headers, [5], "{asked:?}");
    }
}
