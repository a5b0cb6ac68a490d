//! The programs that are measured: as they are installed, with work for one to three seconds.

use std::fs;
use std::path::{Path, PathBuf};

use csprof_tests::installed::find;
use csprof_tests::workshop::Workshop;

/// A program and its work.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its name in the tables.
    pub name: &'static str,
    /// The command; runs in the workshop's folder.
    pub words: Vec<String>,
    /// The same program instrumented for gprof, where there is its source.
    pub for_gprof: Option<PathBuf>,
}

/// Those whose memory is profiled: a loop that does nothing but ask for it, an interpreter, and a
/// compiler.
pub(crate) fn of_memory(workshop: &Workshop) -> Vec<Program> {
    let mut programs = all(workshop);
    programs.retain(|program| ["python3", "cc1plus -O2"].contains(&program.name));
    workshop.compile("cc -O2 -o malloc-loop @malloc_loop.c");
    let path = workshop.path("malloc-loop").to_str().expect("UTF-8").to_owned();
    let words = vec![path, "30000000".to_owned()];
    programs.push(Program { name: "malloc loop", words, for_gprof: None });
    programs
}

/// All that are installed here; says which are not.
pub(crate) fn all(workshop: &Workshop) -> Vec<Program> {
    fs::write(workshop.path("data"), data(24_000_000)).expect("data to work on");
    fs::write(workshop.path("small"), data(3_000_000)).expect("data to work on");
    let workload = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
        folder.join(name).to_str().expect("UTF-8").to_owned()
    };
    let mut programs = Vec::new();
    let mut add = |name: &'static str, words: &[&str]| match find(words[0]) {
        Some(path) => {
            let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            words[0] = path.to_str().expect("UTF-8").to_owned();
            programs.push(Program { name, words, for_gprof: None });
        }
        None => eprintln!("not measured: {name} is not installed"),
    };
    add("gzip -9", &["gzip", "-9", "-c", "data"]);
    add("bzip2 -9", &["bzip2", "-9", "-c", "data"]);
    add("xz -6", &["xz", "-6", "-T1", "-c", "small"]);
    add("perl", &["perl", &workload("real/words.pl"), "data"]);
    add("sqlite3", &["sqlite3", ":memory:", &format!(".read {}", sql(workshop))]);
    add("octave", &["octave-cli", "--norc", "--eval", OCTAVE]);
    add("lammps", &["lmp", "-log", "none", "-in", &lammps(workshop)]);
    // What `python3` is may be a script that chooses one.
    if find("python3").is_some() {
        let python = workshop.run(&["python3", "-c", "import sys; print(sys.executable)"]).said();
        programs.push(Program {
            name: "python3",
            words: vec![python.trim().to_owned(), workload("real/queens.py"), "12".to_owned()],
            for_gprof: None,
        });
    }
    if find("g++").is_some() {
        // The compiler proper: the driver only starts it.
        let compiler = workshop.run(&["g++", "-print-prog-name=cc1plus"]).said();
        workshop.compile(&format!("g++ -E -o templates.ii {}", workload("real/templates.cpp")));
        let words =
            [compiler.trim(), "-quiet", "-O2", "-fpreprocessed", "templates.ii", "-o", "out.s"];
        programs.push(Program {
            name: "cc1plus -O2",
            words: words.map(str::to_owned).to_vec(),
            for_gprof: None,
        });
    }
    if find("cc").is_some() {
        workshop.compile("cc -O2 -o figure1 @figure1.c");
        workshop.compile("cc -O2 -pg -o figure1-gprof @figure1.c");
        programs.push(Program {
            name: "Figure 1",
            words: vec![workshop.path("figure1").to_str().expect("UTF-8").to_owned()],
            for_gprof: Some(workshop.path("figure1-gprof")),
        });
    }
    programs
}

const OCTAVE: &str = "x = 0; for i = 1:400000; x = x + sin(i) * mod(i, 7); end; \
    for i = 1:12; a = rand(300); x = x + sum(sum(inv(a * a' + eye(300)))); end; disp(x > 0)";

/// Tables, an index, joins and sorts: the workload of the tests with twice the rows.
fn sql(workshop: &Workshop) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/real/tables.sql");
    let once = fs::read_to_string(source).expect("a workload");
    let path = workshop.path("tables.sql");
    fs::write(&path, once.replace("600000", "1200000")).expect("a script");
    path.to_str().expect("UTF-8").to_owned()
}

/// A Lennard-Jones liquid of 4 000 atoms.
fn lammps(workshop: &Workshop) -> String {
    let path = workshop.path("liquid.lmp");
    let script = "units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 700
";
    fs::write(&path, script).expect("a script");
    path.to_str().expect("UTF-8").to_owned()
}

/// Words and numbers, always the same: bytes by Knuth's linear congruential generator.
fn data(bytes: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut data = Vec::with_capacity(bytes + 16);
    while data.len() < bytes {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = state >> 54;
        data.extend_from_slice(format!("{:x}", word * word).as_bytes());
        data.push(if state >> 40 & 15 == 0 { b'\n' } else { b' ' });
    }
    data
}
