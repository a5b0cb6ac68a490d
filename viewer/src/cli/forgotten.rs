//! What `record` says of runs that nobody has saved: they keep memory that others could have.

use csprof_format::profile::RunInfo;

use crate::job_place;
use crate::launch::salvage::{self, Forgotten};
use crate::views::number::{Form, bytes, counted, duration};
use crate::views::printable::{command_line, printable};

/// One line about all that is there for an hour or more, and that nobody uses; `None` if nothing
/// is, or if another rank of the job says it.
pub(super) fn told() -> Option<String> {
    if !job_place::speaks_for_node() {
        return None;
    }
    said(&salvage::forgotten(), crate::launch::now_unix_ns())
}

fn said(runs: &[Forgotten], now_unix_ns: u64) -> Option<String> {
    let size = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.bytes));
    let size = bytes(size, Form::Ascii);
    let begun = |info: &RunInfo| Some(info.start_unix_ns).filter(|&ns| ns > 0);
    let first = runs.iter().filter_map(|run| begun(&run.left.info)).min();
    let age = |what: &str| {
        let age = |first| duration(now_unix_ns.saturating_sub(first) as f64, Form::Ascii);
        first.map_or_else(String::new, |first| format!(", {what}begun {} ago,", age(first)))
    };
    match runs {
        [] => None,
        [one] => {
            let command = command_line(&one.left.info.command);
            let what = if command.is_empty() { String::new() } else { format!(" of {command}") };
            let path = one.left.path.display().to_string();
            let path = printable(&path);
            Some(format!(
                "an interrupted run{what}{} keeps {size}: csprof salvage --remove {path} -o FILE saves \
                 it and gives that back",
                age("")
            ))
        }
        _ => {
            let count = counted(runs.len() as u64, "interrupted run", Form::Ascii);
            Some(format!(
                "{count}{} keep {size}: csprof salvage lists them, and csprof salvage --all --remove -o \
                 FOLDER saves them and gives that back",
                age("the first ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::salvage::LeftRun;

    #[test]
    fn one_line_says_what_is_there_and_how_it_is_saved() {
        const HOUR: u64 = 3_600_000_000_000;
        let run = |number: u64, start_unix_ns| Forgotten {
            left: LeftRun {
                path: format!("/dev/shm/csprof-{number}-aaaaaa").into(),
                info: RunInfo {
                    command: vec![b"./solver".to_vec(), b"a b".to_vec()],
                    start_unix_ns,
                    ..RunInfo::default()
                },
                place: crate::launch::run_file::JobPlace::default(),
            },
            bytes: 3 << 20,
        };
        assert_eq!(said(&[], HOUR), None);
        let one = said(&[run(7, HOUR)], 3 * HOUR).unwrap();
        assert!(one.starts_with("an interrupted run of ./solver "), "{one}");
        assert!(one.contains(", begun 7 200 s ago, keeps 3.15 MB: "), "{one}");
        let command = ": csprof salvage --remove /dev/shm/csprof-7-aaaaaa -o FILE saves it";
        assert!(one.contains(command), "{one}");
        // Of what began when nobody knows, no age is said.
        assert!(!said(&[run(7, 0)], HOUR).unwrap().contains("begun"));
        let two = said(&[run(7, 2 * HOUR), run(8, HOUR)], 3 * HOUR).unwrap();
        let age = duration((2 * HOUR) as f64, Form::Ascii);
        assert!(two.starts_with(&format!("2 interrupted runs, the first begun {age} ago, keep 6")));
        assert!(two.contains(": csprof salvage lists them, and csprof salvage --all"), "{two}");
        assert!(!two.contains('\n'));
    }
}
