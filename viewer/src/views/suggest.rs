//! What is worth a look: a short list of path prefixes, each with a reason that can be checked.
//!
//! The question is that of Bottlenecks (Ammons, Choi, Gupta and Swamy, ECOOP 2004): which prefixes
//! of call paths would be worth the work. An entry is a row of the top-down tree, so samples below
//! it are those of one prefix, and entries below one another share samples. Each entry has a *part*
//! of its own: what it claims without what entries below it have. So
//!
//! ```text
//! Σ part  ≤  what is shown
//! ```
//!
//! Rows of less than [`LEAST`] percent are not looked into, so after the index of children each
//! node is visited once at most, and time and memory are those of the rows, however deep they are.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use super::difference::Difference;
use super::flat::by_function;
use super::notes::Notes;
use super::number::{Form, amount, amount_per, counted, percent};
use super::path::Path;
use super::pattern::chain;
use super::row::{Cost, Edges, Row, Weight};
use super::summary::clustered;
use super::top_down::TopDown;
use super::tree::RowId;
use crate::profile::FrameRef;
use crate::profile::comparison::Comparison;
use crate::refine::{
    Cancelled, FramePattern, FrameSet, Predicate, Preset, Refined, Stage, Watch, shown_of_sides,
};

/// Least part of an entry, in percent of what is shown; of a comparison, of the side with more.
pub const LEAST: u64 = 2;

/// Entries of a list.
pub const MOST: usize = 10;

/// Fewer samples are not enough to point at anything.
const FEWEST: u64 = 10;

/// Rows that are looked into at most, the costliest first: a recursion of 100 000 calls, and what
/// is below it. Deeper ones have millions of rows.
const MOST_ROWS: usize = 1 << 17;

/// Least cost of a frame below a row that is listed for being spread, in percent of what is shown:
/// what is less is what makes the cost spread.
const LEAST_OF_SPREAD: u64 = 5;

/// Callees from which on cost is spread over many.
const MANY: usize = 6;

/// How many times as much an activation costs here at least, where that is a reason.
const TIMES: u128 = 2;

/// Why a row is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its function takes or waits for locks (`@lock`), and nothing above it does.
    Lock,
    /// An activation costs more here than elsewhere, whatever its edge counts are within their
    /// bounds.
    Dear {
        /// Samples and edges here.
        here: (u64, [u64; 2]),
        /// Samples and edges of the function's other paths.
        elsewhere: (u64, [u64; 2]),
    },
    /// So many samples are its own.
    Own(u64),
    /// So many callees have its cost, the costliest so much of it.
    ManyCallees {
        /// Callees with samples.
        callees: usize,
        /// Samples of the costliest.
        largest: u64,
    },
    /// Two profiles differ here by more than noise.
    Differs,
    /// The user knows why: what claims its cost, and is not listed.
    Understood,
}

impl Why {
    /// Its stable name.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Dear { .. } => "context",
            Self::Own(_) => "own",
            Self::ManyCallees { .. } => "spread",
            Self::Differs => "difference",
            Self::Understood => "understood",
        }
    }
}

/// A path prefix that is worth a look.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// Where it is in the tree.
    pub path: Path,
    /// Its rows, outermost first. Entries share those that are above several.
    pub rows: Vec<Arc<Row>>,
    /// Why it is listed.
    pub why: Why,
    /// Samples that it has and no other entry; of a comparison, of BASE and of OTHER.
    pub part: [u64; 2],
    /// The same of each run, where a side has several.
    pub part_of_runs: Vec<u64>,
}

/// A list of such prefixes.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    /// The entries, those with the greatest part first.
    pub list: Vec<Suggestion>,
    /// Entries that are left out for being too many.
    pub more: usize,
    /// Whether there were too many rows to look into.
    pub is_cut: bool,
    /// Entries that are left out for being understood.
    pub understood: usize,
}

impl Suggestion {
    /// What the sides of a comparison differ by in its part.
    #[must_use]
    pub fn difference<'c>(&self, comparison: &'c Comparison) -> Difference<'c> {
        Difference::new(comparison, self.part.into_iter().chain(self.part_of_runs.iter().copied()))
    }

    /// The row itself.
    #[must_use]
    pub fn row(&self) -> &Row {
        // An entry is never the root of everything, so there is one.
        &self.rows[self.rows.len() - 1]
    }

    /// The stage that leaves its path alone, as the language writes it; `None` where rows on it
    /// are no functions.
    #[must_use]
    pub fn stage(&self, refined: &Refined) -> Option<String> {
        let rows: Vec<&Row> =
            self.rows.iter().map(|row| &**row).filter(|row| row.kind.is_of_program()).collect();
        let chain = chain(refined, &rows).ok()?;
        Some(Stage::Where(Predicate::Through(chain)).to_string())
    }

    /// The reason in words, with the numbers it is checked by.
    #[must_use]
    pub fn reason(&self, refined: &Refined, form: Form) -> String {
        let metric = refined.looked_at();
        let weight = self.row().of(refined.metric);
        match self.why {
            Why::Lock if metric.counts_waits() => {
                "waits for locks, conditions or barriers (@lock)".to_owned()
            }
            Why::Lock => "works for locks (@lock); -e realtime shows what waiting takes".to_owned(),
            Why::Dear { here, elsewhere } => {
                let each = |(samples, [low, high]): (u64, [u64; 2])| {
                    let per_edge = |edges| amount_per(samples, edges, metric, form);
                    if low == high {
                        per_edge(low)
                    } else {
                        format!("{} to {}", per_edge(high), per_edge(low))
                    }
                };
                format!("time/edge is {} here, {} elsewhere", each(here), each(elsewhere))
            }
            Why::Own(own) => format!(
                "own code of this frame, {}% of the path's {}",
                percent(own, weight.inclusive),
                amount(weight.inclusive, metric, form)
            ),
            Why::ManyCallees { callees, largest } => format!(
                "spread over {}, none above {}% of the path's {}",
                counted(callees as u64, "callee", form),
                percent(largest, weight.inclusive),
                amount(weight.inclusive, metric, form)
            ),
            Why::Understood => "understood".to_owned(),
            Why::Differs => {
                let Some(comparison) = refined.profile.comparison.as_deref() else {
                    return String::new();
                };
                let part = self.difference(comparison);
                format!("{}, beyond {}", part.change().verb(), part.noise(form))
            }
        }
    }
}

/// What is worth a look in what is shown, at most so many entries. O(nodes).
///
/// # Errors
/// The watch ended it.
pub fn suggestions(
    refined: &Refined,
    most: usize,
    watch: &Watch<'_>,
) -> Result<Suggestions, Cancelled> {
    suggestions_besides(&Notes::default(), refined, most, watch)
}

/// The same; of one profile, paths that are understood are left out, and what is above them is
/// judged without their cost.
///
/// # Errors
/// The watch ended it.
pub fn suggestions_besides(
    notes: &Notes,
    refined: &Refined,
    most: usize,
    watch: &Watch<'_>,
) -> Result<Suggestions, Cancelled> {
    let mut tree = TopDown::new(refined, watch)?;
    match refined.profile.comparison.as_deref() {
        Some(comparison) => {
            let sides = shown_of_sides(refined);
            let weigh = |samples: [u64; 2]| {
                let weights = comparison.weights();
                let weighed = |side| u128::from(samples[side]).saturating_mul(weights[side]);
                weighed(0).max(weighed(1))
            };
            let least = (weigh(sides) / 100 * u128::from(LEAST)).max(1);
            let size = |row: &Row| weigh(Cost::Inclusive.of_sides(row));
            let (found, is_cut) = look(refined, &mut tree, least, size, watch)?;
            let claims = differences(comparison, &tree, &found, least);
            let rank = |part: &[u64]| comparison.delta(sides_of(part)).unsigned_abs();
            Ok(listed(refined, &tree, &found, claims, most, is_cut, rank))
        }
        None => {
            let least = refined.shown.saturating_mul(LEAST).div_ceil(100).max(FEWEST);
            let size = |row: &Row| u128::from(row.of(refined.metric).inclusive);
            let (found, is_cut) = look(refined, &mut tree, least.into(), size, watch)?;
            let understood = known(notes, refined, &mut tree, &found);
            let (claims, understood) = costs(refined, &tree, &found, (least, &understood), watch)?;
            let rank = |part: &[u64]| u128::from(part[0]);
            let found = listed(refined, &tree, &found, claims, most, is_cut, rank);
            Ok(Suggestions { understood, ..found })
        }
    }
}

/// The rows that are large enough, each behind the row above it, and whether there are more.
fn look(
    refined: &Refined,
    tree: &mut TopDown,
    least: u128,
    size: impl Fn(&Row) -> u128,
    watch: &Watch<'_>,
) -> Result<(Vec<RowId>, bool), Cancelled> {
    let mut found = Vec::new();
    let mut waiting = BinaryHeap::from([(u128::MAX, Reverse(RowId::ROOT))]);
    while let Some((_, Reverse(row))) = waiting.pop() {
        if found.len() == MOST_ROWS {
            return Ok((found, true));
        }
        watch.step(0)?;
        found.push(row);
        tree.children(refined, row);
        let children = tree.opened_children(row).iter();
        let sized = children.map(|&child| (size(tree.row(child)), Reverse(child)));
        waiting.extend(sized.filter(|(size, _)| *size >= least));
    }
    Ok((found, false))
}

/// A row that may be listed.
#[derive(Clone, Debug)]
struct Claim {
    why: Why,
    /// What it has and no claim below it; of a comparison, of both sides, and of each run.
    part: Vec<u64>,
}

/// What a part has of both sides.
fn sides_of(part: &[u64]) -> [u64; 2] {
    [0, 1].map(|side| part.get(side).copied().unwrap_or(0))
}

/// Where rows stand among those that were found.
fn places(tree: &TopDown, found: &[RowId]) -> Vec<Option<usize>> {
    let mut places = vec![None; tree.rows()];
    for (place, row) in found.iter().enumerate() {
        places[row.index()] = Some(place);
    }
    found.iter().map(|&row| places[tree.parent(row)?.index()]).collect()
}

/// What each claim has without those below it. `all` is what it claims, and whether claims below
/// are to be taken off that. A claim of which `keep` does not want the part is none.
fn parted(
    above: &[Option<usize>],
    claims: &mut [Option<Claim>],
    all: impl Fn(usize, &Claim) -> (Vec<u64>, bool),
    keep: impl Fn(&[u64]) -> bool,
) {
    let mut claimed: Vec<Vec<u64>> = vec![Vec::new(); claims.len()];
    let add = |sums: &mut Vec<u64>, part: &[u64]| {
        sums.resize(sums.len().max(part.len()), 0);
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    };
    for place in (0..claims.len()).rev() {
        if let Some(claim) = &mut claims[place] {
            let (mut part, with_below) = all(place, claim);
            if with_below {
                let below = part.iter_mut().zip(&claimed[place]);
                below.for_each(|(part, below)| *part = part.saturating_sub(*below));
            }
            match keep(&part) {
                true => {
                    add(&mut claimed[place], &part);
                    claim.part = part;
                }
                false => claims[place] = None,
            }
        }
        if let Some(above) = above[place] {
            let part = std::mem::take(&mut claimed[place]);
            add(&mut claimed[above], &part);
        }
    }
}

/// Which of the rows that were found are understood.
fn known(notes: &Notes, refined: &Refined, tree: &mut TopDown, found: &[RowId]) -> Vec<bool> {
    let rows: HashSet<_> = notes.understood().flat_map(|note| note.locate(refined, tree)).collect();
    found.iter().map(|row| rows.contains(row)).collect()
}

/// What stands out in one profile, and how many paths of it are understood.
fn costs(
    refined: &Refined,
    tree: &TopDown,
    found: &[RowId],
    (least, understood): (u64, &[bool]),
    watch: &Watch<'_>,
) -> Result<(Vec<Option<Claim>>, usize), Cancelled> {
    let above = places(tree, found);
    let mut is_within = vec![false; found.len()];
    let locks = refined.frames_of(&FramePattern::Preset(Preset::Lock)).ok();
    let dear = Dear::new(refined, watch)?;
    let is_repeated = repeated(refined, tree, found, &above);
    let mut is_below_lock = vec![false; found.len()];
    let mut has_many = vec![false; found.len()];
    let large = least.max(refined.shown.saturating_mul(LEAST_OF_SPREAD).div_ceil(100));
    let mut claims = Vec::with_capacity(found.len());
    for (place, &id) in found.iter().enumerate() {
        let row = tree.row(id);
        let is_above = above[place].is_some_and(|above| is_below_lock[above]);
        let is_lock = row.kind.is_of_program() && is_of(refined, tree, id, locks.as_ref());
        is_below_lock[place] = is_above || is_lock;
        has_many[place] = above[place].is_some_and(|above| has_many[above]);
        let least = if has_many[place] { large } else { least };
        is_within[place] = above[place].is_some_and(|at| is_within[at] || understood[at]);
        let why = match () {
            () if is_within[place] => None,
            () if understood[place] => Some(Why::Understood),
            () if is_above || !row.kind.is_of_program() => None,
            () if is_lock => Some(Why::Lock),
            () => {
                let weight = row.of(refined.metric);
                let dear = if is_repeated[place] { None } else { dear.reason(row, weight) };
                dear.or_else(|| (weight.exclusive >= least).then_some(Why::Own(weight.exclusive)))
                    .or_else(|| many_callees(refined, tree, id, least))
            }
        };
        has_many[place] |= matches!(why, Some(Why::ManyCallees { .. }));
        claims.push(why.map(|why| Claim { why, part: Vec::new() }));
    }
    parted(
        &above,
        &mut claims,
        |place, claim| match claim.why {
            Why::Own(own) => (vec![own, 0], false),
            Why::Understood => {
                (vec![tree.row(found[place]).of(refined.metric).inclusive, 0], false)
            }
            _ => (vec![tree.row(found[place]).of(refined.metric).inclusive, 0], true),
        },
        |part| part[0] >= least,
    );
    // It has taken its cost from what is above it.
    let mut known = 0;
    for claim in &mut claims {
        known += usize::from(claim.take_if(|claim| claim.why == Why::Understood).is_some());
    }
    Ok((claims, known))
}

fn is_of(refined: &Refined, tree: &TopDown, id: RowId, frames: Option<&FrameSet>) -> bool {
    let frame = |&node: &u32| -> FrameRef { refined.frame[node as usize] };
    let first = tree.nodes(id).first().map(frame);
    first.zip(frames).is_some_and(|(frame, frames)| frames.contains(frame))
}

/// Cost that many callees have, none of them much.
fn many_callees(refined: &Refined, tree: &TopDown, id: RowId, least: u64) -> Option<Why> {
    let inclusive = |id: &RowId| tree.row(*id).of(refined.metric).inclusive;
    let children = tree.opened_children(id).iter().map(inclusive).filter(|&samples| samples > 0);
    let (callees, largest, sum) =
        children.fold((0, 0, 0_u64), |(callees, largest, sum), samples| {
            (callees + 1, samples.max(largest), sum.saturating_add(samples))
        });
    let whole = inclusive(&id);
    let has_many = callees >= MANY && largest <= whole / 5 && sum >= whole / 2 && sum >= 2 * least;
    has_many.then_some(Why::ManyCallees { callees, largest })
}

/// What activations cost in all paths of their function, for those that cost more in one.
struct Dear {
    /// For each function, its samples and edges; those of functions without are 0.
    all: Vec<Weight>,
}

impl Dear {
    fn new(refined: &Refined, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        let mut weights = vec![Weight::NONE; refined.functions.len()];
        // A signal that stands for several samples makes a short call look long.
        if clustered(&refined.profile).is_none() && !refined.is_of_callers() {
            for row in by_function(refined, watch)? {
                weights[row.function.index()] = *row.of(refined.metric);
            }
        }
        Ok(Self { all: weights })
    }

    /// Whether an activation costs more here than in the function's other paths. Of bounds, those
    /// count that are against it. `row` has none of its own function above it, whose activations
    /// would be the outermost.
    fn reason(&self, row: &Row, weight: &Weight) -> Option<Why> {
        let whole = &self.all[row.function.index()];
        let (Edges::Range { low, high }, Edges::Range { low: least, high: most }) =
            (weight.outer_edges, whole.outer_edges)
        else {
            return None;
        };
        let samples = weight.edge_samples;
        let others = whole.edge_samples.checked_sub(samples)?;
        let (least, most) = (least.checked_sub(high)?, most.checked_sub(low)?);
        let is_known = low > 0 && least > 0 && samples.min(others) >= FEWEST;
        // Calls shorter than the period have a sample each, whatever they cost.
        let is_long = u128::from(samples) * 10 > u128::from(high) * 11;
        let (here, there) = (
            u128::from(samples).saturating_mul(least.into()),
            u128::from(others).saturating_mul(high.into()),
        );
        let is_dear = is_known && is_long && here >= TIMES.saturating_mul(there);
        is_dear.then_some(Why::Dear {
            here: (samples, [low, high]),
            elsewhere: (others, [least, most]),
        })
    }
}

/// Which rows have a row of their own function above them, found in one walk over all of them.
fn repeated(
    refined: &Refined,
    tree: &TopDown,
    found: &[RowId],
    above: &[Option<usize>],
) -> Vec<bool> {
    let mut below = vec![Vec::new(); found.len()];
    for (place, above) in above.iter().enumerate() {
        if let Some(above) = *above {
            below[above].push(place);
        }
    }
    // Rows of each function on the path to the one that is visited.
    let mut on_path = vec![0_u32; refined.functions.len()];
    let mut is_repeated = vec![false; found.len()];
    let mut steps: Vec<_> = (0..found.len().min(1)).map(|root| (root, true)).collect();
    while let Some((place, enters)) = steps.pop() {
        let on_path = &mut on_path[tree.row(found[place]).function.index()];
        if enters {
            is_repeated[place] = *on_path > 0;
            *on_path += 1;
            steps.push((place, false));
            steps.extend(below[place].iter().map(|&place| (place, true)));
        } else {
            *on_path -= 1;
        }
    }
    is_repeated
}

/// Where two profiles differ by more than noise: the innermost rows that do, and what is above them
/// if it does without them. What one side lacks is listed where it begins.
fn differences(
    comparison: &Comparison,
    tree: &TopDown,
    found: &[RowId],
    least: u128,
) -> Vec<Option<Claim>> {
    let above = places(tree, found);
    let is_one_sided = |id: RowId| Cost::Inclusive.of_sides(tree.row(id)).contains(&0);
    let claim = |(place, &id): (usize, &RowId)| {
        // What is above all functions is no entry, so it has none within it.
        let is_entry = |id: RowId| tree.row(id).kind.is_of_program();
        let is_within =
            above[place].is_some_and(|above| is_entry(found[above]) && is_one_sided(found[above]));
        let may_be = tree.row(id).kind.is_of_program() && !is_within;
        may_be.then_some(Claim { why: Why::Differs, part: Vec::new() })
    };
    let mut claims: Vec<_> = found.iter().enumerate().map(claim).collect();
    parted(
        &above,
        &mut claims,
        |place, _| (Cost::Inclusive.of_runs(tree.row(found[place])).collect(), true),
        |part| {
            let part = Difference::new(comparison, part.iter().copied());
            part.is_significant() && part.size() >= least
        },
    );
    claims
}

/// The claims with the greatest parts.
fn listed(
    refined: &Refined,
    tree: &TopDown,
    found: &[RowId],
    mut claims: Vec<Option<Claim>>,
    most: usize,
    is_cut: bool,
    rank: impl Fn(&[u64]) -> u128,
) -> Suggestions {
    let place_of =
        |(place, claim): (usize, &Option<Claim>)| Some((rank(&claim.as_ref()?.part), place));
    let mut order: Vec<_> = claims.iter().enumerate().filter_map(place_of).collect();
    order.sort_unstable_by_key(|&(rank, place)| (Reverse(rank), place));
    let more = order.len().saturating_sub(most);
    order.iter().skip(most).for_each(|&(_, place)| claims[place] = None);
    let mut shared: HashMap<RowId, Arc<Row>> = HashMap::new();
    let entry = |(place, claim): (usize, Option<Claim>)| {
        let Claim { why, part } = claim?;
        let id = found[place];
        let mut rows = Vec::new();
        let mut next = Some(id);
        while let Some(at) = next.filter(|&at| at != RowId::ROOT) {
            rows.push(shared.entry(at).or_insert_with(|| Arc::new(tree.row(at).clone())).clone());
            next = tree.parent(at);
        }
        rows.reverse();
        let path = tree.path(refined, id);
        let rank = rank(&part);
        let part_of_runs = part.get(2..).unwrap_or_default().to_vec();
        Some((rank, Suggestion { path, rows, why, part: sides_of(&part), part_of_runs }))
    };
    let mut list: Vec<_> = claims.into_iter().enumerate().filter_map(entry).collect();
    list.sort_by_key(|(rank, _)| Reverse(*rank));
    let list = list.into_iter().map(|(_, entry)| entry).collect();
    Suggestions { list, more, is_cut, understood: 0 }
}

#[cfg(test)]
mod tests;
