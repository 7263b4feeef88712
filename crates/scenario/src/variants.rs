//! Variants chosen by name: registered controllers, queues and stacks, and sources.

use sojourn_queue::Inner;
use sojourn_units::params::Param;

use crate::known::Known;
use crate::schema::{QUEUE, SHAPER};
use crate::shape::{Field, Given, Shape, Variant};

/// Every controller of the catalogue.
pub(crate) fn controllers(known: &Known) -> Vec<Variant> {
    known.controllers.infos().map(|info| registered(info.name, info.title, info.params)).collect()
}

/// Every controller, and `none`.
pub(crate) fn controls(known: &Known) -> Vec<Variant> {
    let mut all = controllers(known);
    all.push(plain("none", "No controller: datagrams at the source's own rate", &[]));
    all
}

/// Every shipped queue, with the keys of the queues inside it.
pub(crate) fn queues(_: &Known) -> Vec<Variant> {
    let all = sojourn_queue::infos().iter();
    all.map(|info| {
        let mut variant = registered(info.name, info.title, info.params);
        let changes = info.shaper.and_then(|shaper| shaper.changes);
        for field in variant.fields.iter_mut().filter(|field| Some(field.name) == changes) {
            field.shape = Shape::Either(&SHAPER);
        }
        variant.fields.extend(info.inner.iter().map(inner));
        variant
    })
    .collect()
}

fn inner(inner: &Inner) -> Field {
    Field::new(inner.name, Shape::OneOf(&QUEUE), inner.default, inner.doc)
}

fn registered(name: &'static str, title: &'static str, params: &[Param]) -> Variant {
    let fields = params.iter().map(|param| Field {
        name: param.name,
        shape: Shape::Scalar(param.kind),
        given: if param.is_required() { Given::Required } else { Given::OfKind },
        doc: param.doc,
        source: param.source,
    });
    Variant { name, title, fields: fields.collect(), exclusive: &[] }
}

fn plain(name: &'static str, title: &'static str, fields: &[Field]) -> Variant {
    Variant { name, title, fields: fields.to_vec(), exclusive: &[] }
}

/// Every source.
pub(crate) fn sources(_: &Known) -> Vec<Variant> {
    crate::source::infos().map(source).collect()
}

fn source(info: &crate::source::Info) -> Variant {
    let mut variant = registered(info.name, info.title, info.params);
    for field in variant.fields.iter_mut().filter(|field| info.optional.contains(&field.name)) {
        field.given = Given::Optional;
    }
    let file = info.file.map(|file| Field::optional(file.name, Shape::Text, file.doc));
    variant.fields.extend(file);
    Variant { exclusive: info.exclusive, ..variant }
}

/// Every stack.
pub(crate) fn stacks(known: &Known) -> Vec<Variant> {
    known.stacks.infos().map(|info| registered(info.name, info.title, info.params)).collect()
}
