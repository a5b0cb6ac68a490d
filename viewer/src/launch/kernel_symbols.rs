//! What functions of the running kernel are called: `/proc/kallsyms`.

use std::fs;

/// Where their names are.
pub(super) const FILE: &str = "/proc/kallsyms";

/// A larger function is none that is known.
const LARGEST: u64 = 1 << 20;

/// Names of the kernel's functions.
#[derive(Debug)]
pub(super) struct KernelSymbols {
    text: String,
    /// Where functions begin, ascending, and where in the text the name of each is.
    starts: Vec<(u64, std::ops::Range<usize>)>,
}

/// The present start of the machine: addresses in the kernel are other ones after the next. Empty
/// where it is not known.
pub(super) fn boot() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.map_or_else(|_| String::new(), |text| text.trim().to_owned())
}

impl KernelSymbols {
    /// Those of the kernel that ran when the machine was in this [`boot`].
    ///
    /// # Errors
    ///
    /// Says why there are none.
    pub(super) fn of(then: &str) -> Result<Self, String> {
        if then.is_empty() || then != boot() {
            return Err(
                "the run was not of this machine since it was last started, and the kernel's \
                 functions have other addresses by now"
                    .to_owned(),
            );
        }
        let text = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(text).ok_or_else(|| {
            format!(
                "{FILE} shows you no addresses (kernel.kptr_restrict; as root, unless that is 2, \
                 or with kernel.perf_event_paranoid at most 1, if that is 0)"
            )
        })
    }

    /// Of lines like `ffffffff81d7f400 t read_zero`, and with the module in brackets behind. `None`
    /// if none has an address.
    fn parse(text: String) -> Option<Self> {
        let mut starts = Vec::new();
        let mut line_start = 0;
        for line in text.split_inclusive('\n') {
            let start = line_start;
            line_start += line.len();
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let address = u64::from_str_radix(address, 16).unwrap_or(0);
            if address == 0 || !matches!(kind, "t" | "T" | "w" | "W" | "i") {
                continue;
            }
            // Of several names for one place: a global one, and one that was not made of another.
            let made = name.bytes().take_while(|byte| *byte == b'_').count();
            let place = start + (name.as_ptr().addr() - line.as_ptr().addr());
            starts.push((address, (kind != "T", made), place..place + name.len()));
        }
        starts.sort_by_key(|(address, worse, _)| (*address, *worse));
        starts.dedup_by_key(|(address, ..)| *address);
        let starts: Vec<_> = starts.into_iter().map(|(address, _, name)| (address, name)).collect();
        (!starts.is_empty()).then_some(Self { text, starts })
    }

    /// The function that has this address, if one is known to.
    pub(super) fn at(&self, address: u64) -> Option<&str> {
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        let (start, name) = self.starts.get(after.checked_sub(1)?)?;
        let name = self.text.get(name.clone())?;
        (address - start < LARGEST && name != "_etext").then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_of_the_function_around_it() {
        let text = "\
            ffffffff81000000 T _stext\n\
            ffffffff81000000 T startup\n\
            ffffffff81000000 t other\n\
            ffffffff81000040 D data\n\
            ffffffff81000080 t read_zero\n\
            ffffffff81001000 T _etext\n\
            ffffffffc0000010 t nfs_open\t[nfs]\n";
        let symbols = KernelSymbols::parse(text.to_owned()).unwrap();
        let expected = [
            (0xffff_ffff_80ff_ffff, None),
            (0xffff_ffff_8100_0000, Some("startup")),
            (0xffff_ffff_8100_0041, Some("startup")),
            (0xffff_ffff_8100_00ff, Some("read_zero")),
            (0xffff_ffff_8100_1001, None),
            (0xffff_ffff_c000_0010, Some("nfs_open")),
            (0xffff_ffff_d000_0010, None),
        ];
        for (address, name) in expected {
            assert_eq!(symbols.at(address), name, "{address:x}");
        }
    }

    #[test]
    fn addresses_that_are_not_shown_are_none() {
        let text = "0000000000000000 T _stext\n0000000000000000 t read_zero\n";
        assert!(KernelSymbols::parse(text.to_owned()).is_none());
    }

    #[test]
    fn names_of_another_start_of_the_machine_are_not_taken() {
        for boot in ["", "00000000-0000-0000-0000-000000000000"] {
            assert!(KernelSymbols::of(boot).unwrap_err().contains("last started"));
        }
    }
}
