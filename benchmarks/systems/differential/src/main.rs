//! The benchmark's queries on differential dataflow, one worker, one core: `joinless-differential VARIANT JOB REPORT`.
//!
//! A query is a tree of binary atoms over variables 0..=n (path: atom i is (i, i+1); star: (0, i+1)), the last one filtered. An order of
//! its atoms in which each shares one variable with those before it is a plan: every step looks one bound variable up in an index of the
//! next atom and binds another one. Two ways to run a plan:
//!
//! - delta query (crate `differential-dogs3`, its second `half_join`): the result's changes are the sum over the atoms i of the changes of
//!   atom i, joined with all others, where those before i in the query count changes of the same time (`<=`) and those after it do not (`<`).
//!   Each i has a plan that walks towards the filtered atom first. The only state is the indexes of the edges, shared among the terms.
//! - binary joins: one plan, whose intermediate results are indexed.
//!
//! `dogs3` is the delta query; `dogs3-semijoin` the same after the atoms beside the filtered one are reduced to what joins with it;
//! `best` binary joins from the filtered atom on; `from` binary joins in the order of the query.
//!
//! Grouped queries are in `grouped`.
//!
//! Vertices are u32, times u32 (the batch), differences i32. Where the query drops its last vertex it is dropped before the indexes, so that
//! equal rows are one with a multiplicity. A bound variable is stored once per row. Rows inserted and deleted within a batch are counted as both.

mod grouped;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use differential_dataflow::difference::Semigroup;
use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::operators::arrange::{Arranged, TraceAgent};
use differential_dataflow::operators::join::join_traces;
use differential_dataflow::trace::implementations::ValSpine;
use differential_dataflow::{AsCollection, ExchangeData, VecCollection};
use differential_dogs3::operators::half_join2;
use serde_json::Value;
use timely::communication::allocator::thread::Thread;
use timely::communication::Allocator;
use timely::container::{CapacityContainerBuilder, PushInto};
use timely::dataflow::operators::probe::Handle;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Inspect, Probe};
use timely::dataflow::Scope;
use timely::worker::Worker;
use timely::WorkerConfig;

pub type Vertex = u32;
pub type Time = u32;
type Diff = i32;
type Collection<'s, D> = VecCollection<'s, Time, D, Diff>;
type Edges<'s> = Collection<'s, (Vertex, Vertex)>;
type Index<'s, V> = Arranged<'s, TraceAgent<ValSpine<Vertex, V, Time, Diff>>>;
type Builder<D> = CapacityContainerBuilder<Vec<(D, Time, Diff)>>;

/// Matches after which a half join lets the operators behind it run: bounds the rows between operators, and keeps them in the caches.
const MATCHES_AT_ONCE: usize = 10_000;

// ---- The job and its report ---------------------------------------------------------------------------------------------------------------

struct Job {
    star: bool,
    relations: usize,
    columns: usize,
    threshold: Vertex,
    /// For each relation, the number of its stream.
    stream: Vec<usize>,
    batches: Batches<(Vertex, Vertex), Diff>,
    timing: Timing,
}

/// The changes of each stream and batch.
type Batches<D, R> = Vec<Vec<Vec<(D, R)>>>;

/// How often a job runs and how long it may.
struct Timing {
    runs: usize,
    warm_up: usize,
    limit: Duration,
}

impl Job {
    fn read(fields: &Value) -> Job {
        let number = |name: &str| fields[name].as_u64().expect(name) as usize;
        let (folders, stream) = folders(fields);
        Job {
            star: fields["shape"] == "star",
            relations: stream.len(),
            columns: number("columns"),
            threshold: number("threshold") as Vertex,
            stream,
            batches: folders.iter().map(|folder| read_batches(folder, number("batches"), edge)).collect(),
            timing: Timing::of(fields),
        }
    }
}

impl Timing {
    fn of(fields: &Value) -> Timing {
        let number = |name: &str| fields[name].as_u64().expect(name) as usize;
        Timing {
            runs: number("runs"),
            warm_up: number("warm_up"),
            limit: Duration::from_secs_f64(fields["limit"].as_f64().expect("limit")),
        }
    }
}

/// The different folders of a job, and for each relation the number of its folder.
fn folders(fields: &Value) -> (Vec<String>, Vec<usize>) {
    let mut folders: Vec<String> = Vec::new();
    let stream = fields["inputs"]
        .as_array()
        .expect("inputs")
        .iter()
        .map(|input| {
            let input = input.as_str().expect("a folder");
            folders.iter().position(|known| known == input).unwrap_or_else(|| {
                folders.push(input.to_string());
                folders.len() - 1
            })
        })
        .collect();
    (folders, stream)
}

/// An edge of a line, and whether it is inserted or deleted.
fn edge(line: &str) -> ((Vertex, Vertex), Diff) {
    let mut fields = line.rsplit(',');
    let mut vertex = || fields.next().and_then(|v| v.parse().ok()).expect("a vertex below 2^32");
    let (dst, src) = (vertex(), vertex());
    ((src, dst), if fields.next() == Some("delete") { -1 } else { 1 })
}

/// A row of up to three columns.
fn any_row(line: &str) -> (grouped::Row, i64) {
    let (sign, values) = match line.split_once(',') {
        Some(("delete", rest)) => (-1, rest),
        Some(("insert", rest)) => (1, rest),
        _ => (1, line),
    };
    let mut row = [0; 3];
    for (place, text) in row.iter_mut().zip(values.split(',')) {
        *place = if text.is_empty() {
            grouped::NULL
        } else {
            text.parse().expect("a number below 2^32")
        };
    }
    (row, sign)
}

fn read_batches<D, R>(folder: &str, count: usize, change: fn(&str) -> (D, R)) -> Vec<Vec<(D, R)>> {
    let files = fs::read_dir(folder)
        .expect("the folder of a relation")
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|e| e == "csv")).collect();
    files.sort();
    files.truncate(count);
    files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap().lines().map(change).collect())
        .collect()
}

/// Events of the report; buffered for a fifth of a second at most, as batches may be as short as that of one edge.
struct Report {
    file: BufWriter<File>,
    flushed: Instant,
}

impl Report {
    fn write(&mut self, event: std::fmt::Arguments) {
        writeln!(self.file, "{{{event}}}").expect("the report");
        if self.flushed.elapsed() > Duration::from_millis(200) {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.file.flush().expect("the report");
        self.flushed = Instant::now();
    }
}

/// What the visitor of the result's changes has seen since it was last asked.
#[derive(Clone, Copy, Default)]
pub struct Totals {
    plus: u64,
    minus: u64,
    check: u64,
}

impl Totals {
    /// A row was inserted or deleted so often.
    #[inline(always)]
    fn add(&mut self, row: &[u64], diff: i64) {
        if diff > 0 {
            self.plus += diff as u64;
        } else {
            self.minus += diff.unsigned_abs();
        }
        self.check = self.check.wrapping_add((diff as u64).wrapping_mul(row_check(row)));
    }
}

/// The inputs of a dataflow, and a probe behind its result.
pub type Dataflow<D, R> = (Vec<InputSession<Time, D, R>>, Handle<Time>);

// ---- Queries and plans --------------------------------------------------------------------------------------------------------------------

/// An edge collection whose ends are two of the query's variables.
#[derive(Clone, Copy)]
struct Atom {
    ends: [usize; 2],
    collection: usize,
}

impl Atom {
    fn end(&self, variable: usize) -> Option<usize> {
        self.ends.iter().position(|end| *end == variable)
    }
}

/// One step of a plan: the key is looked up in the index of an atom by one of its ends; the other end comes last behind what is bound.
struct Step {
    atom: usize,
    by: usize,
    /// Where, in [key, rest.., found], the key of the next step stands.
    next: usize,
}

struct Plan {
    /// The first atom, and which of its ends is the first key.
    first: usize,
    by: usize,
    steps: Vec<Step>,
    /// Where, in [key, rest.., found] of the last step, each variable stands.
    row: Vec<usize>,
}

impl Plan {
    fn new(atoms: &[Atom], order: &[usize]) -> Plan {
        let shared = |bound: &[usize], atom: usize| bound.iter().position(|v| atoms[atom].end(*v).is_some()).expect("a connected order");
        let first = order[0];
        let mut bound = atoms[first].ends.to_vec();
        let by = shared(&bound, order[1]);
        bound.swap(0, by);
        let mut steps = Vec::new();
        for (i, atom) in order.iter().enumerate().skip(1) {
            let by = atoms[*atom].end(bound[0]).unwrap();
            bound.push(atoms[*atom].ends[1 - by]);
            let next = order.get(i + 1).map_or(0, |following| shared(&bound, *following));
            if i + 1 < order.len() {
                let key = bound.remove(next);
                bound.insert(0, key);
            }
            steps.push(Step { atom: *atom, by, next });
        }
        let row = (0..bound.len())
            .map(|variable| bound.iter().position(|b| *b == variable).unwrap())
            .collect();
        Plan { first, by, steps, row }
    }
}

/// Entry i of [key, rest.., found].
#[inline(always)]
fn entry<const A: usize>(key: Vertex, rest: &[Vertex; A], found: Vertex, i: usize) -> Vertex {
    match i {
        0 => key,
        i if i <= A => rest[i - 1],
        _ => found,
    }
}

/// [key, rest.., found] as the next key and the rest in order.
#[inline(always)]
fn rekey<const A: usize, const B: usize>(key: Vertex, rest: &[Vertex; A], found: Vertex, next: usize) -> (Vertex, [Vertex; B]) {
    let others = std::array::from_fn(|i| entry(key, rest, found, if i < next { i } else { i + 1 }));
    (entry(key, rest, found, next), others)
}

#[inline(always)]
fn row<const A: usize, const W: usize>(key: Vertex, rest: &[Vertex; A], found: Vertex, positions: &[usize; W]) -> [Vertex; W] {
    positions.map(|i| entry(key, rest, found, i))
}

// ---- Dataflows ----------------------------------------------------------------------------------------------------------------------------

/// A query over edge collections, and their indexes by src and dst, each built once.
struct Query<'s> {
    atoms: Vec<Atom>,
    collections: Vec<Edges<'s>>,
    indexes: HashMap<(usize, usize), Index<'s, Vertex>>,
}

impl<'s> Query<'s> {
    fn new(job: &Job, mut collections: Vec<Edges<'s>>) -> Query<'s> {
        let n = job.relations;
        let (threshold, last_is_dropped) = (job.threshold, job.columns == n);
        let filtered = collections[job.stream[n - 1]].clone().filter(move |(_, dst)| *dst > threshold);
        collections.push(if last_is_dropped {
            filtered.map(|(src, _)| (src, 0))
        } else {
            filtered
        });
        let ends = |i| if job.star { [0, i + 1] } else { [i, i + 1] };
        let mut atoms: Vec<Atom> = (0..n)
            .map(|i| Atom {
                ends: ends(i),
                collection: job.stream[i],
            })
            .collect();
        atoms[n - 1].collection = collections.len() - 1;
        Query {
            atoms,
            collections,
            indexes: HashMap::new(),
        }
    }

    /// Changes with one end as the key.
    fn keyed(&self, atom: usize, by: usize) -> Edges<'s> {
        let edges = self.collections[self.atoms[atom].collection].clone();
        if by == 0 {
            edges
        } else {
            edges.map(|(src, dst)| (dst, src))
        }
    }

    fn index(&mut self, atom: usize, by: usize) -> Index<'s, Vertex> {
        let key = (self.atoms[atom].collection, by);
        if !self.indexes.contains_key(&key) {
            let index = self.keyed(atom, by).arrange_by_key();
            self.indexes.insert(key, index);
        }
        self.indexes[&key].clone()
    }

    /// Reduces the atoms that share a variable with the last one to the edges that join with it.
    fn semijoin_with_the_last(&mut self) {
        let last = self.atoms.len() - 1;
        for i in 0..last {
            let Some((by, end)) = (0..2).find_map(|by| Some((by, self.atoms[last].end(self.atoms[i].ends[by])?))) else {
                continue;
            };
            let keys = self.keyed(last, end).map(|(key, _)| key).distinct_core::<Diff>().arrange_by_self();
            let make = move |key: Vertex, other: Vertex| if by == 0 { (key, other) } else { (other, key) };
            let reduced = join_traces::<_, _, _, _, Builder<(Vertex, Vertex)>>(
                self.index(i, by),
                keys,
                move |key, other, (), time, diff, one, out| out.push_into((make(*key, *other), time, diff * one)),
            );
            self.collections.push(reduced.as_collection());
            self.atoms[i].collection = self.collections.len() - 1;
        }
    }

    /// The term of a delta query for the changes of its plan's first atom: half joins; `A` of a step are the bound vertices besides its key.
    fn term<const W: usize>(&mut self, plan: &Plan) -> Collection<'s, [Vertex; W]>
    where
        [Vertex; W]: ExchangeData,
    {
        let changes = self
            .keyed(plan.first, plan.by)
            .inner
            .map(|((key, other), time, diff)| ((key, [other], time), time, diff))
            .as_collection();
        match plan.steps.as_slice() {
            [last] => self.last_half::<1, W>(changes, plan, last),
            [a, last] => {
                let changes = self.half::<1, 2>(changes, plan, a);
                self.last_half::<2, W>(changes, plan, last)
            }
            [a, b, last] => {
                let changes = self.half::<1, 2>(changes, plan, a);
                let changes = self.half::<2, 3>(changes, plan, b);
                self.last_half::<3, W>(changes, plan, last)
            }
            _ => panic!("two to four relations"),
        }
    }

    fn half<const A: usize, const B: usize>(
        &mut self,
        changes: Collection<'s, (Vertex, [Vertex; A], Time)>,
        plan: &Plan,
        step: &Step,
    ) -> Collection<'s, (Vertex, [Vertex; B], Time)>
    where
        [Vertex; A]: ExchangeData,
        [Vertex; B]: ExchangeData,
    {
        let next = step.next;
        half_join(
            changes,
            self.index(step.atom, step.by),
            step.atom < plan.first,
            move |key, rest, found, time| {
                let (key, rest) = rekey(key, rest, found, next);
                (key, rest, time)
            },
        )
    }

    fn last_half<const A: usize, const W: usize>(
        &mut self,
        changes: Collection<'s, (Vertex, [Vertex; A], Time)>,
        plan: &Plan,
        step: &Step,
    ) -> Collection<'s, [Vertex; W]>
    where
        [Vertex; A]: ExchangeData,
        [Vertex; W]: ExchangeData,
    {
        let positions: [usize; W] = plan.row.clone().try_into().expect("a row of all variables");
        half_join(
            changes,
            self.index(step.atom, step.by),
            step.atom < plan.first,
            move |key, rest, found, _| row(key, rest, found, &positions),
        )
    }

    /// Binary joins along a plan; the index of an intermediate result holds the bound vertices besides its key.
    fn joins<const W: usize>(&mut self, plan: &Plan) -> Collection<'s, [Vertex; W]>
    where
        [Vertex; W]: ExchangeData,
    {
        let first = self.keyed(plan.first, plan.by).map(|(key, other)| (key, [other]));
        match plan.steps.as_slice() {
            [last] => self.last_join::<1, W>(first, plan, last),
            [a, last] => {
                let bound = self.join::<1, 2>(first, a);
                self.last_join::<2, W>(bound, plan, last)
            }
            [a, b, last] => {
                let bound = self.join::<1, 2>(first, a);
                let bound = self.join::<2, 3>(bound, b);
                self.last_join::<3, W>(bound, plan, last)
            }
            _ => panic!("two to four relations"),
        }
    }

    fn join<const A: usize, const B: usize>(
        &mut self,
        bound: Collection<'s, (Vertex, [Vertex; A])>,
        step: &Step,
    ) -> Collection<'s, (Vertex, [Vertex; B])>
    where
        [Vertex; A]: ExchangeData,
        [Vertex; B]: ExchangeData,
    {
        let next = step.next;
        join(bound, self.index(step.atom, step.by), move |key, rest, found| {
            rekey(key, rest, found, next)
        })
    }

    fn last_join<const A: usize, const W: usize>(
        &mut self,
        bound: Collection<'s, (Vertex, [Vertex; A])>,
        plan: &Plan,
        step: &Step,
    ) -> Collection<'s, [Vertex; W]>
    where
        [Vertex; A]: ExchangeData,
        [Vertex; W]: ExchangeData,
    {
        let positions: [usize; W] = plan.row.clone().try_into().expect("a row of all variables");
        join(bound, self.index(step.atom, step.by), move |key, rest, found| {
            row(key, rest, found, &positions)
        })
    }
}

/// Joins changes with what an index holds at their time, with or (else) without the changes of that time itself.
fn half_join<'s, const A: usize, D: ExchangeData>(
    changes: Collection<'s, (Vertex, [Vertex; A], Time)>,
    index: Index<'s, Vertex>,
    with_their_time: bool,
    make: impl Fn(Vertex, &[Vertex; A], Vertex, Time) -> D + 'static,
) -> Collection<'s, D>
where
    [Vertex; A]: ExchangeData,
{
    half_join2::half_join_internal_unsafe::<_, _, _, _, _, _, _, _, Builder<D>>(
        changes,
        index,
        |time, frontier| {
            frontier.insert(time.saturating_sub(1));
        },
        move |indexed, time| indexed < time || with_their_time && indexed == time,
        |_, matches| matches > MATCHES_AT_ONCE,
        move |out: &mut Builder<D>, key, rest, found, time, diff, found_diffs| {
            for (_, found_diff) in found_diffs.drain(..) {
                out.push_into((make(*key, rest, *found, *time), *time, diff * found_diff));
            }
        },
    )
    .as_collection()
}

/// A binary join, without the consolidation of its output that the crate's `join_core` would do.
fn join<'s, const A: usize, D: ExchangeData>(
    bound: Collection<'s, (Vertex, [Vertex; A])>,
    index: Index<'s, Vertex>,
    make: impl Fn(Vertex, &[Vertex; A], Vertex) -> D + 'static,
) -> Collection<'s, D>
where
    [Vertex; A]: ExchangeData,
{
    join_traces::<_, _, _, _, Builder<D>>(
        bound.arrange_by_key(),
        index,
        move |key, rest, found, time, diff, found_diff, out| {
            out.push_into((make(*key, rest, *found), time, diff * found_diff));
        },
    )
    .as_collection()
}

#[derive(Clone, Copy, PartialEq)]
enum Variant {
    Delta,
    DeltaAfterSemijoin,
    BestOrder,
    FromOrder,
}

impl Variant {
    fn named(name: &str) -> Option<Variant> {
        let names = [
            ("dogs3", Variant::Delta),
            ("dogs3-semijoin", Variant::DeltaAfterSemijoin),
            ("best", Variant::BestOrder),
            ("from", Variant::FromOrder),
        ];
        names.into_iter().find(|(known, _)| *known == name).map(|(_, variant)| variant)
    }
}

/// The atoms from the filtered end backwards.
fn backwards(n: usize) -> Vec<usize> {
    (0..n).rev().collect()
}

/// The order of the term for atom i: to the filtered end, then back.
fn order_from(i: usize, n: usize, star: bool) -> Vec<usize> {
    if star {
        std::iter::once(i).chain(backwards(n).into_iter().filter(|j| *j != i)).collect()
    } else {
        (i..n).chain((0..i).rev()).collect()
    }
}

/// Builds the query's dataflow, with a visitor of every change of the result at its end.
fn build<'s, const W: usize>(
    job: &Job,
    variant: Variant,
    scope: Scope<'s, Time>,
    totals: Rc<Cell<Totals>>,
) -> Dataflow<(Vertex, Vertex), Diff>
where
    [Vertex; W]: ExchangeData,
{
    let n = job.relations;
    let (inputs, collections) = job.batches.iter().map(|_| scope.new_collection()).unzip();
    let mut query = Query::new(job, collections);
    if variant == Variant::DeltaAfterSemijoin {
        query.semijoin_with_the_last();
    }
    let result: Collection<'s, [Vertex; W]> = match variant {
        Variant::Delta | Variant::DeltaAfterSemijoin => {
            let mut terms: Vec<_> = (0..n)
                .map(|i| query.term(&Plan::new(&query.atoms, &order_from(i, n, job.star))))
                .collect();
            let first = terms.remove(0);
            first.concatenate(terms)
        }
        Variant::BestOrder => query.joins(&Plan::new(&query.atoms, &backwards(n))),
        Variant::FromOrder => query.joins(&Plan::new(&query.atoms, &(0..n).collect::<Vec<_>>())),
    };
    let columns = job.columns;
    let (probe, _) = result
        .inner
        .inspect_batch(move |_, changes| {
            let mut seen = totals.get();
            for (row, _, diff) in changes {
                seen.add(&row.map(u64::from)[..columns], *diff as i64);
            }
            totals.set(seen);
        })
        .probe();
    (inputs, probe)
}

/// The check of one result row; see benchmarks/jobs.py.
#[inline(always)]
fn row_check(row: &[u64]) -> u64 {
    let ends = row[0].wrapping_add(7).wrapping_mul(row[row.len() - 1].wrapping_add(11));
    row.iter()
        .enumerate()
        .fold(ends, |sum, (i, x)| sum.wrapping_add((2 * i as u64 + 3).wrapping_mul(*x)))
}

/// One run over the first batches; reported if it has a number. False where the limit was reached.
fn run<D, R>(
    stream: &Batches<D, R>,
    limit: Duration,
    build: &impl for<'s> Fn(Scope<'s, Time>, Rc<Cell<Totals>>) -> Dataflow<D, R>,
    batches: usize,
    number: Option<usize>,
    report: &mut Report,
) -> bool
where
    D: ExchangeData,
    R: ExchangeData + Semigroup,
{
    let mut worker = Worker::new(WorkerConfig::default(), Allocator::Thread(Thread::default()), Some(Instant::now()));
    let totals = Rc::new(Cell::new(Totals::default()));
    let cpu = cpu_seconds();
    let started = Instant::now();
    let (mut inputs, probe) = worker.dataflow(|scope| build(scope, Rc::clone(&totals)));
    let mut spent = started.elapsed();
    let mut all = Totals::default();
    for batch in 0..batches {
        let begun = Instant::now();
        let next = batch as Time + 1;
        for (input, changes) in inputs.iter_mut().zip(stream) {
            for (row, diff) in &changes[batch] {
                input.update(row.clone(), diff.clone());
            }
            input.advance_to(next);
            input.flush();
        }
        while probe.less_than(&next) {
            worker.step();
            if number.is_some() && spent + begun.elapsed() > limit {
                return false;
            }
        }
        let took = begun.elapsed();
        spent += took;
        let seen = totals.take();
        all = Totals {
            plus: all.plus + seen.plus,
            minus: all.minus + seen.minus,
            check: all.check.wrapping_add(seen.check),
        };
        if let Some(run) = number {
            report.write(format_args!(
                "\"event\": \"batch\", \"run\": {run}, \"batch\": {batch}, \"seconds\": {:.7}, \"plus\": {}, \"minus\": {}, \"check\": {}",
                took.as_secs_f64(),
                seen.plus,
                seen.minus,
                seen.check
            ));
        }
    }
    if let Some(run) = number {
        report.write(format_args!(
            "\"event\": \"run\", \"run\": {run}, \"seconds\": {:.6}, \"cpu\": {:.6}, \"plus\": {}, \"minus\": {}, \"check\": {}",
            spent.as_secs_f64(),
            cpu_seconds() - cpu,
            all.plus,
            all.minus,
            all.check
        ));
        report.flush();
    }
    drop(inputs);
    while worker.has_dataflows() {
        worker.step();
    }
    true
}

/// Seconds that this thread had a core so far; 0 where the system does not say.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// All runs of a job.
fn measure<D, R>(
    stream: &Batches<D, R>,
    timing: &Timing,
    build: impl for<'s> Fn(Scope<'s, Time>, Rc<Cell<Totals>>) -> Dataflow<D, R>,
    report: &mut Report,
) where
    D: ExchangeData,
    R: ExchangeData + Semigroup,
{
    let batches = stream[0].len();
    if timing.warm_up > 0 {
        run(stream, timing.limit, &build, timing.warm_up.min(batches), None, report);
    }
    for number in 0..timing.runs {
        if !run(stream, timing.limit, &build, batches, Some(number), report) {
            break;
        }
    }
}

/// The versions of the crates that do the work.
fn versions() -> String {
    let locked: BTreeMap<&str, &str> = include_str!("../Cargo.lock")
        .split("[[package]]")
        .filter_map(|package| {
            let value = |key: &str| {
                package
                    .lines()
                    .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
            };
            Some((value("name")?, value("version")?))
        })
        .collect();
    ["differential-dataflow", "differential-dogs3", "timely"]
        .map(|name| format!("{name} {}", locked[name]))
        .join(", ")
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, name, job, report] = arguments.as_slice() else {
        panic!("joinless-differential VARIANT JOB REPORT")
    };
    let variant = Variant::named(name).expect("dogs3, dogs3-semijoin, best or from");
    let file = OpenOptions::new().append(true).create(true).open(report).expect("the report");
    let mut report = Report {
        file: BufWriter::with_capacity(1 << 16, file),
        flushed: Instant::now(),
    };
    let system = if name.starts_with("dogs3") {
        name.replace("dogs3", "differential-dogs3")
    } else {
        format!("differential-{name}")
    };
    report.write(format_args!(
        "\"event\": \"start\", \"system\": \"{system}\", \"version\": \"{}\", \"settings\": \"1 worker, u32 vertices\"",
        versions()
    ));
    report.flush();
    let fields: Value = serde_json::from_str(&fs::read_to_string(job).expect("the job's file")).expect("JSON");
    if fields["query"].is_object() {
        let (folders, tables) = folders(&fields);
        let count = fields["batches"].as_u64().expect("batches") as usize;
        let stream = folders.iter().map(|folder| read_batches(folder, count, any_row)).collect();
        let query = grouped::Grouped::of(&fields, tables);
        let best = variant == Variant::BestOrder;
        measure(
            &stream,
            &Timing::of(&fields),
            |scope, totals| query.build(best, scope, totals),
            &mut report,
        );
    } else {
        let job = Job::read(&fields);
        match job.relations {
            2 => measure(
                &job.batches,
                &job.timing,
                |scope, totals| build::<3>(&job, variant, scope, totals),
                &mut report,
            ),
            3 => measure(
                &job.batches,
                &job.timing,
                |scope, totals| build::<4>(&job, variant, scope, totals),
                &mut report,
            ),
            4 => measure(
                &job.batches,
                &job.timing,
                |scope, totals| build::<5>(&job, variant, scope, totals),
                &mut report,
            ),
            n => panic!("{n} relations; two to four are built"),
        }
    }
    report.flush();
}
