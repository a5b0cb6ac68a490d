//! A job of ten thousand ranks, of which one is known to be late.

use csprof::profile::reduce::{Keep, Reduction};
use csprof_format::write;
use portable_pty::CommandBuilder;

use super::Session;

#[expect(unreachable_pub, dead_code, reason = "the crate of the system tests has it, too")]
#[path = "../../../tests/src/job.rs"]
mod job;

use job::Job;

/// Three keys lead to the path on which a rank makes all others wait, and name the rank.
#[test]
fn the_late_rank_of_ten_thousand_is_found_in_three_keys() {
    let job = Job { ranks: 10_000, common: 4, private: 1, late: vec![(6789, 3)], addresses: 1 };
    let mut reduction = Reduction::new(Keep::None);
    reduction.add("job", &job.together()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.csprof");
    write::save(&reduction.finish(), &file).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_csprof"));
    command.args(["view", "job.csprof"]);
    let first = "shown 100% + out 0% = 100%";
    let mut viewer = Session::start_command(command, "xterm-256color", (folder, file), first);
    viewer.press("I");
    viewer.wait_for("main > MPI_Barrier");
    viewer.press("d");
    viewer.wait_for("on rank 6789");
    viewer.wait_for("main > step_0 > kernel_3");
    viewer.press("\r");
    // The row in the tree, with the rank at its end.
    viewer.wait_until("row", |screen| {
        let contents = screen.contents();
        let mut rows = contents.lines().filter(|line| line.contains("kernel_3"));
        let digits = |row: &str| row.chars().filter(char::is_ascii_digit).collect::<String>();
        contents.contains("[1 Tree]") && rows.any(|row| digits(row).ends_with("6789"))
    });
    drop(viewer.child.kill());
}
