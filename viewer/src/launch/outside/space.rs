//! What a process has mapped, and what of that was where in which epoch.

use std::collections::BTreeMap;
use std::rc::Rc;

use csprof_format::arena::{LoadRecord, LogRecord, epoch_reason};

use super::mappings::CodeMapping;
use super::modules::{Module, Modules};
use super::recipe::Recipe;
use super::walk::Code;

/// A mapping whose module is known.
#[derive(Clone, Debug)]
struct Placed {
    end: u64,
    /// That of its record in the log.
    number: u32,
    bias: u64,
    mapping: CodeMapping,
    module: Rc<Module>,
}

/// The code of a process as it is now, and the log of how it came to that.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    /// By start, without overlaps.
    placed: BTreeMap<u64, Placed>,
    /// The present epoch.
    pub(super) epoch: u32,
    loads: u32,
}

/// Records with their times, as an arena has them.
pub(super) type Log = Vec<(u64, LogRecord)>;

impl Space {
    /// That of a process that begins with the same code.
    pub(super) fn forked(&self) -> Self {
        Self { epoch: 0, ..self.clone() }
    }

    /// Forgets all code.
    pub(super) fn clear(&mut self) {
        self.placed.clear();
    }

    /// Begins with what a process has.
    pub(super) fn begin(&mut self, time_ns: u64, log: &mut Log) {
        log.push((time_ns, LogRecord::Epoch { number: self.epoch, reason: epoch_reason::START }));
        for placed in self.placed.values() {
            log.push((time_ns, LogRecord::Load(load(placed))));
        }
    }

    /// Enters a mapping, from this time on. Another one in its place ends, and an epoch with it.
    pub(super) fn enter(
        &mut self,
        process: u32,
        mapping: CodeMapping,
        time_ns: u64,
        modules: &mut Modules,
        log: &mut Log,
    ) {
        let start = mapping.start;
        if mapping.start >= mapping.end {
            return;
        }
        let overlapped: Vec<u64> = self
            .placed
            .range(..mapping.end)
            .rev()
            .take_while(|(_, placed)| placed.end > start)
            .map(|(&at, _)| at)
            .collect();
        let is_known =
            |at: &u64| self.placed.get(at).is_some_and(|placed| placed.mapping.has(&mapping));
        if overlapped.iter().any(is_known) {
            return;
        }
        let gone: Vec<Placed> = overlapped.iter().filter_map(|at| self.placed.remove(at)).collect();
        for placed in &gone {
            log.push((time_ns, LogRecord::Unload { number: placed.number }));
        }
        if !gone.is_empty() {
            self.epoch += 1;
            let reason = epoch_reason::ADDRESS_REUSE;
            log.push((time_ns, LogRecord::Epoch { number: self.epoch, reason }));
        }
        // What stays of those on either side.
        for Placed { mapping: old, module, .. } in gone {
            let shift = mapping.end.saturating_sub(old.start);
            let behind = CodeMapping {
                start: mapping.end,
                offset: old.offset.wrapping_add(shift),
                ..old.clone()
            };
            let before = CodeMapping { end: mapping.start, ..old };
            for rest in [before, behind] {
                self.place(rest, Rc::clone(&module), time_ns, log);
            }
        }
        if mapping.is_of_module() {
            let module = modules.of(process, &mapping);
            self.place(mapping, module, time_ns, log);
        }
    }

    fn place(&mut self, mapping: CodeMapping, module: Rc<Module>, time_ns: u64, log: &mut Log) {
        if mapping.start >= mapping.end {
            return;
        }
        let (number, start, end) = (self.loads, mapping.start, mapping.end);
        self.loads += 1;
        let placed = Placed { end, number, bias: module.bias(&mapping), mapping, module };
        log.push((time_ns, LogRecord::Load(load(&placed))));
        self.placed.insert(start, placed);
    }
}

fn load(placed: &Placed) -> LoadRecord {
    let Placed { number, bias, mapping, module, .. } = placed;
    LoadRecord {
        number: *number,
        path: module.path.clone(),
        build_id: module.build_id.clone(),
        file: module.identity,
        bias: *bias,
        segments: vec![(mapping.start, mapping.end)],
    }
}

impl Code for Space {
    fn recipe(&mut self, address: u64) -> Option<Rc<Recipe>> {
        let (_, placed) = self.placed.range(..=address).next_back()?;
        let is_there = address < placed.end;
        is_there.then(|| placed.module.recipe(address.wrapping_sub(placed.bias)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_code_in_the_place_of_a_module_begins_an_epoch() {
        let (mut space, mut log, mut modules) = (Space::default(), Log::new(), Modules::default());
        let mapping = |start, end, inode| CodeMapping {
            start,
            end,
            offset: 0,
            device: (0, 0),
            inode,
            path: b"/no/such/file".to_vec(),
        };
        space.begin(1, &mut log);
        let mut enter = |mapping: CodeMapping, time_ns| {
            space.enter(1, mapping, time_ns, &mut modules, &mut log);
            space.epoch
        };
        assert_eq!(enter(mapping(0x1000, 0x4000, 1), 2), 0);
        assert_eq!(enter(mapping(0x8000, 0x9000, 1), 3), 0);
        // The same again changes nothing.
        assert_eq!(enter(mapping(0x1000, 0x4000, 1), 4), 0);
        assert_eq!(enter(mapping(0x2000, 0x3000, 2), 5), 1);
        let places: Vec<_> =
            space.placed.iter().map(|(&start, placed)| (start, placed.end)).collect();
        assert_eq!(
            places,
            [(0x1000, 0x2000), (0x2000, 0x3000), (0x3000, 0x4000), (0x8000, 0x9000)]
        );
        assert_eq!(space.placed[&0x3000].mapping.offset, 0x2000);
        let kinds: Vec<_> = log
            .iter()
            .map(|(time, record)| match record {
                LogRecord::Epoch { number, .. } => (*time, 'E', *number),
                LogRecord::Load(load) => (*time, 'L', load.number),
                LogRecord::Unload { number } => (*time, 'U', *number),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [
            (1, 'E', 0),
            (2, 'L', 0),
            (3, 'L', 1),
            (5, 'U', 0),
            (5, 'E', 1),
            (5, 'L', 2),
            (5, 'L', 3),
            (5, 'L', 4),
        ];
        assert_eq!(kinds, expected);
    }
}
