//! The registered controllers of Sojourn, by any process.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::path::Path;

use libbpf_rs::query::{LinkInfo, LinkTypeInfo, MapInfo, MapInfoIter};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::loaded::query;
use super::{PARAMS, PINS, SOCKETS, sys};
use crate::objects::{kernel_name, names};
use crate::preconditions::require_privilege;
use crate::{Error, Registered};

/// A registered controller, and its link.
struct Found {
    link: u32,
    registered: Registered,
}

/// Lists the registered controllers.
///
/// # Errors
/// Without privilege.
pub fn registered() -> Result<Vec<Registered>, Error> {
    Ok(found()?.into_iter().map(|one| one.registered).collect())
}

/// Removes a controller from the kernel. With `is_forced`, also if sockets use it; they keep it
/// until they close.
///
/// # Errors
/// Without privilege, or if it is not registered or in use.
pub fn unload(name: &str, is_forced: bool) -> Result<(), Error> {
    if !crate::is_supported(name) {
        return Err(Error::unknown(name));
    }
    let found = found()?.into_iter().find(|one| one.registered.name == name);
    let Found { link, registered } = found.ok_or_else(|| Error::NotLoaded(name.to_owned()))?;
    if registered.sockets > 0 && !is_forced {
        let sockets = registered.sockets;
        return Err(Error::InUse { kernel_name: kernel_name(name), sockets });
    }
    let failed = |step| move |error| Error::Query { step, error };
    let link = sys::open_link(link).map_err(failed("open the controller's link"))?;
    sys::detach(&link).map_err(failed("unregister the controller"))?;
    if registered.is_pinned {
        fs::remove_file(pin(name)).map_err(failed("remove the controller's pin"))?;
    }
    Ok(())
}

fn pin(name: &str) -> String {
    format!("{PINS}/{}", kernel_name(name))
}

fn found() -> Result<Vec<Found>, Error> {
    require_privilege()?;
    let links = links()?;
    let maps: Vec<MapInfo> = MapInfoIter::default().collect();
    links.into_iter().filter_map(|(link, map)| describe(link, map, &maps).transpose()).collect()
}

/// The links of controllers, with their maps. The iterator of libbpf-rs would end at a refusal as at
/// the last link, so that "not allowed" would be "none loaded".
fn links() -> Result<Vec<(u32, u32)>, Error> {
    let mut found = Vec::new();
    let mut last = 0;
    while let Some(id) = present(sys::next_link(last))? {
        last = id;
        // A link may have gone in the meantime, or another process may not have completed it yet.
        let Some(link) = present(sys::open_link(id))? else { continue };
        // Some links of other kinds cannot be described.
        if let Ok(LinkInfo { info: LinkTypeInfo::StructOps(ops), .. }) =
            LinkInfo::from_fd(link.as_fd())
        {
            found.push((id, ops.map_id));
        }
    }
    Ok(found)
}

/// A result about a link; `None` if there is no such link.
fn present<T>(result: io::Result<T>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.kind() {
            // EAGAIN is the answer for a link in the making (`bpf_link_by_id`).
            ErrorKind::NotFound | ErrorKind::WouldBlock => Ok(None),
            ErrorKind::PermissionDenied => Err(Error::NotRoot),
            _ => Err(Error::Query { step: "list the controllers", error }),
        },
    }
}

/// The controller of a link, unless it is another program's.
fn describe(link: u32, map: u32, maps: &[MapInfo]) -> Result<Option<Found>, Error> {
    let Some(ops) = maps.iter().find(|one| one.id == map) else { return Ok(None) };
    let Some(name) = names().find(|name| ops.name.to_str() == Some(&kernel_name(name))) else {
        return Ok(None);
    };
    // The maps of one object have the same types.
    let value = |wanted: &str| {
        let is_wanted = |one: &&MapInfo| one.btf_id == ops.btf_id && one.name == *wanted;
        maps.iter().find(is_wanted).map(|map| words_of(map.id)).transpose()
    };
    let sockets = value(SOCKETS)?.and_then(|words| words.first().copied()).unwrap_or_default();
    let words = value(PARAMS)?.unwrap_or_default();
    let is_pinned = Path::new(&pin(name)).exists();
    let registered = Registered { name: name.to_owned(), sockets, is_pinned, words };
    Ok(Some(Found { link, registered }))
}

/// The variables of a map.
fn words_of(id: u32) -> Result<Vec<u64>, Error> {
    const STEP: &str = "read the controller's variables";
    let map = MapHandle::from_map_id(id).map_err(query(STEP))?;
    let value = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(query(STEP))?;
    let chunks = value.unwrap_or_default();
    let chunks = chunks.as_chunks::<8>().0.iter();
    Ok(chunks.map(|bytes| u64::from_ne_bytes(*bytes)).collect())
}
