//! Variants chosen by name: registered controllers, queues and stacks, and sources.

use sojourn_queue::Inner;
use sojourn_units::params::{Given, Key};

use crate::known::Known;
use crate::schema::{QUEUE, SHAPER};
use crate::shape::{Shape, Variant};

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
            field.kind = Shape::Either(&SHAPER);
        }
        variant.fields.extend(info.inner.iter().map(inner));
        variant
    })
    .collect()
}

fn inner(inner: &Inner) -> Key<Shape> {
    Key::new(inner.name, Shape::OneOf(&QUEUE), inner.doc).given(Given::Default(inner.default))
}

fn registered(name: &'static str, title: &'static str, params: &[Key]) -> Variant {
    let fields = params.iter().map(|key| key.with(Shape::Scalar(key.kind)));
    Variant { name, title, fields: fields.collect(), exclusive: &[] }
}

fn plain(name: &'static str, title: &'static str, fields: &[Key<Shape>]) -> Variant {
    Variant { name, title, fields: fields.to_vec(), exclusive: &[] }
}

/// Every source.
pub(crate) fn sources(_: &Known) -> Vec<Variant> {
    crate::source::infos().map(source).collect()
}

fn source(info: &crate::source::Info) -> Variant {
    let mut variant = registered(info.name, info.title, info.params);
    let file = info.file.map(|file| file.with(Shape::Text));
    variant.fields.extend(file);
    Variant { exclusive: info.exclusive, ..variant }
}

/// Every stack.
pub(crate) fn stacks(known: &Known) -> Vec<Variant> {
    known.stacks.infos().map(|info| registered(info.name, info.title, info.params)).collect()
}
