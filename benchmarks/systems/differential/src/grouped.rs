//! Grouped queries (benchmarks/queries.py), each a dataflow written by hand: counts are pushed below the joins.
//!
//! `best` keeps what an expert would keep. How often a key is there is the difference of that key in an index without values, so a join
//! multiplies counts, and the next index adds up what is equal. The last step is no join: each side adds its own component to one difference
//! per group, `count_total` gives a group's sums before and after each batch, and their product is the count. Sets are `threshold_total` (`distinct_total` of
//! this version never takes a key back).
//! Edges are distinct, as the stream promises; so joins of sets with edges need no `distinct` behind them.
//!
//! `from` joins all relations in the order of the query, with all their vertices, and counts the results by `count_total`; it is written for
//! counts of paths and stars, and for SNB4.

use std::cell::Cell;
use std::rc::Rc;

use differential_dataflow::difference::{Multiply, Semigroup};
use differential_dataflow::hashable::Hashable;
use differential_dataflow::input::Input;
use differential_dataflow::operators::arrange::{Arranged, TraceAgent};
use differential_dataflow::operators::{CountTotal, ThresholdTotal};
use differential_dataflow::trace::implementations::KeySpine;
use differential_dataflow::{AsCollection, ExchangeData, VecCollection};
use serde_json::Value;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Inspect, Probe};
use timely::dataflow::Scope;

use crate::{Dataflow, Time, Totals, Vertex};

/// A row of any table; columns it has not are 0, NULL is the highest number.
pub type Row = [Vertex; 3];
pub const NULL: Vertex = Vertex::MAX;

type Count = i64;
type Of<'s, D, R = Count> = VecCollection<'s, Time, D, R>;
type Weights<'s, R = Count> = Arranged<'s, TraceAgent<KeySpine<Vertex, Time, R>>>;

/// What a grouped job asks, and its tables in the order of their folders.
pub struct Grouped {
    pub workload: String,
    /// Of each relation of the query, its table.
    pub tables: Vec<usize>,
    pub limit: Vertex,
}

impl Grouped {
    pub fn of(fields: &Value, tables: Vec<usize>) -> Grouped {
        let limit = fields["query"]["below"][0][1].as_u64().unwrap_or(0) as Vertex;
        Grouped {
            workload: fields["workload"].as_str().expect("workload").to_string(),
            tables,
            limit,
        }
    }

    /// Builds the dataflow with a visitor of every change of the result at its end.
    pub fn build<'s>(&self, best: bool, scope: Scope<'s, Time>, totals: Rc<Cell<Totals>>) -> Dataflow<Row, Count> {
        let count = self.tables.iter().max().unwrap() + 1;
        let (inputs, collections): (Vec<_>, Vec<Of<'s, Row>>) = (0..count).map(|_| scope.new_collection()).unzip();
        let of = |relation: usize| collections[self.tables[relation]].clone();
        let probe = match (self.workload.as_str(), best) {
            ("L3CNT", true) => {
                let edges = of(0);
                let leaving = weights(column(&edges, 0));
                visit(product(column(&edges, 1), along(&edges, 1, 0, leaving)), group, totals)
            }
            ("L3SUM", true) => {
                let edges = of(0);
                let weigh = |([src, dst, _], time, diff): (Row, Time, Count)| {
                    (src, time, (diff, diff * ((31 * src as Count + 17 * dst as Count) % 100)))
                };
                let leaving = weights(edges.clone().inner.map(weigh).as_collection());
                let two = along(&edges, 1, 0, leaving);
                let ins = column(&edges, 1)
                    .inner
                    .map(|(key, time, n)| (key, time, (n, (0, 0))))
                    .as_collection();
                let outs = two.inner.map(|(key, time, both)| (key, time, (0, both))).as_collection();
                let sums = ins.concat(outs).count_total_core::<i32>();
                let rows = sums.flat_map(|(key, (n, (count, sum)))| (n * count != 0).then_some((key, n * count, n * sum)));
                visit(rows, |(key, n, s)| [*key as u64, *n as u64, *s as u64], totals)
            }
            ("L4CNT", true) => {
                let edges = of(0);
                let entering = weights(column(&edges, 1));
                let leaving = weights(column(&edges, 0));
                visit(product(along(&edges, 0, 1, entering), along(&edges, 1, 0, leaving)), group, totals)
            }
            ("STAR4CNT", true) => {
                let part = |i: usize| column(&of(i), 0);
                let parts = part(0)
                    .inner
                    .map(|(key, time, n)| (key, time, ((n, 0), (0, 0))))
                    .as_collection()
                    .concat(part(1).inner.map(|(key, time, n)| (key, time, ((0, n), (0, 0)))).as_collection())
                    .concat(part(2).inner.map(|(key, time, n)| (key, time, ((0, 0), (n, 0)))).as_collection())
                    .concat(part(3).inner.map(|(key, time, n)| (key, time, ((0, 0), (0, n)))).as_collection());
                let rows = parts.count_total_core::<i32>().flat_map(|(key, ((a, b), (c, d)))| {
                    let n = a * b * c * d;
                    (n != 0).then_some((key, n))
                });
                visit(rows, group, totals)
            }
            ("L3DISTINCT", true) => {
                let edges = of(0);
                let entering = set(column(&edges, 1));
                let leaving = set(column(&edges, 0));
                let after = keyed(&edges, 0)
                    .arrange_by_key()
                    .join_core(entering, |src, dst, ()| Some((*dst, *src)));
                let middle = after.arrange_by_key().join_core(leaving, |dst, src, ()| Some((*src, *dst)));
                visit(middle, |(src, dst)| [*src as u64, *dst as u64], totals)
            }
            ("L4PROJ", true) => {
                let edges = of(0);
                let entering = set(column(&edges, 1));
                let leaving = set(column(&edges, 0));
                let second = keyed(&edges, 0)
                    .arrange_by_key()
                    .join_core(entering, |src, dst, ()| Some((*dst, *src)));
                let third = keyed(&edges, 1)
                    .arrange_by_key()
                    .join_core(leaving, |dst, src, ()| Some((*src, *dst)));
                let both = second
                    .arrange_by_key()
                    .join_core(third.arrange_by_key(), |mid, src, dst| Some((*src, *mid, *dst)));
                visit(both, |(a, b, c)| [*a as u64, *b as u64, *c as u64], totals)
            }
            ("COMB2", true) => {
                let edges = of(1);
                let starts = weights(column(&of(0), 0));
                let ends = weights(column(&of(4), 0));
                let entering = along(&edges, 0, 1, starts);
                let last = weights(along(&edges, 1, 0, ends));
                visit(product(entering, along(&edges, 1, 0, last)), group, totals)
            }
            ("SNB1", true) => {
                let part = |i: usize, c: usize| column(&of(i), c);
                let parts = part(0, 0)
                    .inner
                    .map(|(key, time, n)| (key, time, (n, (0, 0))))
                    .as_collection()
                    .concat(part(1, 1).inner.map(|(key, time, n)| (key, time, (0, (n, 0)))).as_collection())
                    .concat(part(2, 0).inner.map(|(key, time, n)| (key, time, (0, (0, n)))).as_collection());
                let rows = parts.count_total_core::<i32>().flat_map(|(key, (a, (b, c)))| {
                    let n = a * b * c;
                    (n != 0).then_some((key, n))
                });
                visit(rows, group, totals)
            }
            ("SNB2", true) => {
                let (tag, message_tag, message, knows) = (of(0), of(1), of(2), of(3));
                let limit = self.limit;
                let tags = weights(column(&tag, 0));
                let tagged = weights(along(&message_tag, 1, 0, tags));
                let posts = message.filter(|m| m[2] == NULL);
                let posts = weights(along(&posts, 0, 1, tagged));
                let near = weights(along(&knows, 1, 0, posts));
                let far = along(&knows.filter(move |k| k[0] < limit), 1, 0, near);
                visit(far.count_total_core::<i32>(), group, totals)
            }
            ("SNB3", true) => {
                let (person, message, knows) = (of(0), of(1), of(2));
                let persons = weights(column(&person, 0));
                // a message under its creator, as often as that person is there
                let messages = message
                    .map(|m| (m[1], ()))
                    .arrange_by_key()
                    .join_core(persons, |creator, (), ()| Some(*creator));
                let messages = weights(messages);
                let index = keyed(&knows, 1).arrange_by_key(); // by b, with a
                let near = weights(index.clone().join_core(messages.clone(), |_, a, ()| Some(*a)));
                let far = index.join_core(near, |_, a, ()| Some(*a));
                let there = knows.clone().map(|[a, b, _]| (a, b)).arrange_by_self();
                let back = knows
                    .map(|[a, b, _]| (b, a))
                    .arrange_by_self()
                    .join_core(there, |(a, _), (), ()| Some(*a));
                let returns = weights(back).join_core(messages, |a, (), ()| Some(*a));
                visit(far.concat(returns.negate()).count_total_core::<i32>(), group, totals)
            }
            ("SNB4", true) => {
                let (tag, message_tag, message, knows) = (of(0), of(1), of(2), of(3));
                let limit = self.limit;
                let known = set(knows.filter(move |k| k[0] < limit).map(|k| k[1]));
                let posts = message.filter(|m| m[2] == NULL).map(|m| (m[1], m[0]));
                let posts = weights(posts.arrange_by_key().join_core(known, |_, id, ()| Some(*id)));
                let tagged = keyed(&message_tag, 0)
                    .arrange_by_key()
                    .join_core(posts, |id, tag, ()| Some((*tag, *id)));
                let names = tag.map(|[id, name, _]| (id, name)).arrange_by_key();
                let named = tagged.arrange_by_key().join_core(names, |_, id, name| Some((*name, *id)));
                let counted = once(named).map(|(name, _)| name);
                visit(counted.count_total_core::<i32>(), group, totals)
            }
            ("L3CNT", false) => {
                let edges = of(0);
                let [by_src, by_dst] = [0, 1].map(|by| keyed(&edges, by).arrange_by_key());
                let two = by_dst.join_core(by_src.clone(), |x2, x1, x3| Some((*x3, [*x1, *x2])));
                let three = two
                    .arrange_by_key()
                    .join_core(by_src, |x3, [x1, x2], x4| Some([*x1, *x2, *x3, *x4]));
                visit(three.map(|path| path[1]).count_total_core::<i32>(), group, totals)
            }
            ("L4CNT", false) => {
                let edges = of(0);
                let [by_src, by_dst] = [0, 1].map(|by| keyed(&edges, by).arrange_by_key());
                let two = by_dst.join_core(by_src.clone(), |x2, x1, x3| Some((*x3, [*x1, *x2])));
                let three = two
                    .arrange_by_key()
                    .join_core(by_src.clone(), |x3, [x1, x2], x4| Some((*x4, [*x1, *x2, *x3])));
                let four = three
                    .arrange_by_key()
                    .join_core(by_src, |x4, [x1, x2, x3], x5| Some([*x1, *x2, *x3, *x4, *x5]));
                visit(four.map(|path| path[2]).count_total_core::<i32>(), group, totals)
            }
            ("STAR4CNT", false) => {
                let [a, b, c, d] = [0, 1, 2, 3].map(|i| keyed(&of(i), 0).arrange_by_key());
                let two = a.join_core(b, |src, a, b| Some((*src, [*a, *b])));
                let three = two.arrange_by_key().join_core(c, |src, [a, b], c| Some((*src, [*a, *b, *c])));
                let four = three
                    .arrange_by_key()
                    .join_core(d, |src, [a, b, c], d| Some([*src, *a, *b, *c, *d]));
                visit(four.map(|star| star[0]).count_total_core::<i32>(), group, totals)
            }
            ("SNB4", false) => {
                let (tag, message_tag, message, knows) = (of(0), of(1), of(2), of(3));
                let limit = self.limit;
                let names = tag.map(|[id, name, _]| (id, name)).arrange_by_key();
                let by_tag = keyed(&message_tag, 1).arrange_by_key();
                let tagged = by_tag.join_core(names, |_, id, name| Some((*id, *name)));
                let posts = message.filter(|m| m[2] == NULL).map(|m| (m[0], m[1])).arrange_by_key();
                let written = tagged
                    .arrange_by_key()
                    .join_core(posts, |id, name, creator| Some((*creator, (*name, *id))));
                let near = knows.filter(move |k| k[0] < limit).map(|[a, b, _]| (b, a)).arrange_by_key();
                let all = written.arrange_by_key().join_core(near, |_, tagged, _| Some(*tagged));
                let counted = once(all).map(|(name, _)| name);
                visit(counted.count_total_core::<i32>(), group, totals)
            }
            (name, _) => panic!("{name} is not written"),
        };
        (inputs, probe)
    }
}

/// One column, as often as it is there.
fn column<'s>(rows: &Of<'s, Row>, i: usize) -> Of<'s, Vertex> {
    rows.clone().map(move |row| row[i])
}

/// The first two columns under one of them.
fn keyed<'s>(rows: &Of<'s, Row>, by: usize) -> Of<'s, (Vertex, Vertex)> {
    rows.clone().map(move |row| (row[by], row[1 - by]))
}

fn weights<'s, R: ExchangeData + Semigroup>(keys: Of<'s, Vertex, R>) -> Weights<'s, R> {
    keys.arrange_by_self()
}

/// What is there, once each.
fn once<'s, D: ExchangeData + Hashable>(rows: Of<'s, D>) -> Of<'s, D> {
    rows.threshold_total(|_, n| Count::from(*n > 0))
}

/// Keys that are there.
fn set<'s>(keys: Of<'s, Vertex>) -> Weights<'s> {
    once(keys).arrange_by_self()
}

/// Carries weights of column `by` to column `to`.
fn along<'s, R>(rows: &Of<'s, Row>, by: usize, to: usize, weights: Weights<'s, R>) -> Of<'s, Vertex, R>
where
    R: ExchangeData + Semigroup + Multiply<Count, Output = R>,
{
    let rows = rows.clone().map(move |row| (row[by], row[to]));
    weights.join_core(rows.arrange_by_key(), |_, (), to| Some(*to))
}

/// Groups with the product of two counts.
fn product<'s>(left: Of<'s, Vertex>, right: Of<'s, Vertex>) -> Of<'s, (Vertex, Count), i32> {
    let left = left.inner.map(|(key, time, n)| (key, time, (n, 0))).as_collection();
    let right = right.inner.map(|(key, time, n)| (key, time, (0, n))).as_collection();
    let both = left.concat(right).count_total_core::<i32>();
    both.flat_map(|(key, (a, b)): (Vertex, (Count, Count))| (a * b != 0).then_some((key, a * b)))
}

fn group(row: &(Vertex, Count)) -> [u64; 2] {
    [row.0 as u64, row.1 as u64]
}

/// Visits the rows that are inserted and deleted.
fn visit<'s, D, R, const W: usize>(
    result: Of<'s, D, R>,
    row: impl Fn(&D) -> [u64; W] + 'static,
    totals: Rc<Cell<Totals>>,
) -> timely::dataflow::operators::probe::Handle<Time>
where
    D: ExchangeData,
    R: ExchangeData + Semigroup + Copy + Into<i64>,
{
    let (probe, _) = result
        .inner
        .inspect_batch(move |_, changes| {
            let mut seen = totals.get();
            for (data, _, diff) in changes {
                let diff: i64 = (*diff).into();
                seen.add(&row(data), diff);
            }
            totals.set(seen);
        })
        .probe();
    probe
}
