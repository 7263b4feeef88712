//! The flows that share a bottleneck: those of one direction, seen from one side of it.

use crate::observation::{Flow, Observation, Vantage};
use crate::path::view::View;

/// A flow with fewer packets says little of the path.
const FEWEST_PACKETS: u64 = 20;
/// Flows of a twin; the largest ones.
const MOST_FLOWS: usize = 12;

/// A flow of the group.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    /// The flow.
    pub(crate) flow: &'a Flow,
    /// Its view.
    pub(crate) view: View,
}

/// The group with most data, in the order of the flows, and the number of flows that it lacks.
pub(crate) fn largest(observation: &Observation) -> (Vec<Member<'_>>, usize) {
    let known = observation.flows.iter().filter(|flow| flow.half.packets >= FEWEST_PACKETS);
    let members = known.filter_map(|flow| Some(Member { flow, view: View::of(flow)? }));
    let mut groups: Vec<(Key, Vec<Member<'_>>)> = Vec::new();
    for member in members {
        let key = (member.flow.vantage, member.view.is_reported);
        match groups.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push(member),
            None => groups.push((key, vec![member])),
        }
    }
    let size = |group: &[Member<'_>]| group.iter().map(|one| one.flow.half.wire).sum::<u64>();
    let Some((_, mut group)) = groups.into_iter().max_by_key(|group| size(&group.1)) else {
        return (Vec::new(), observation.flows.len());
    };
    if group.len() > MOST_FLOWS {
        let mut sizes: Vec<u64> = group.iter().map(|one| one.flow.half.wire).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        group.retain(|one| one.flow.half.wire >= sizes[MOST_FLOWS - 1]);
        group.truncate(MOST_FLOWS);
    }
    let others = observation.flows.len() - group.len();
    (group, others)
}

type Key = (Option<Vantage>, bool);
